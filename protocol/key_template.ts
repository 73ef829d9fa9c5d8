/**
 * The template of a concurrency key: constants, and JSON Pointers into the payload.
 *
 * @module
 */

import { err, ok, type Result } from "./result.ts";

/** One segment of a key template, read. */
export type KeySegment =
  | { readonly kind: "constant"; readonly text: string }
  | { readonly kind: "pointer"; readonly pointer: string; readonly path: readonly string[] };

/** How many segments a key template may have. */
export const MAX_KEY_SEGMENTS = 16;

/**
 * Reads a key template; a segment that begins with `/` is a pointer (RFC 6901), any other a constant.
 *
 * @example
 * ```ts
 * import { parseKeyTemplate } from "./key_template.ts";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(parseKeyTemplate(["order", "/a~1b/0"]), {
 *   ok: true,
 *   value: [
 *     { kind: "constant", text: "order" },
 *     { kind: "pointer", pointer: "/a~1b/0", path: ["a/b", "0"] },
 *   ],
 * });
 * assert.equal(parseKeyTemplate(["/bad~2escape"]).ok, false);
 * ```
 */
export function parseKeyTemplate(template: readonly string[]): Result<KeySegment[], string> {
  if (!Array.isArray(template)) return err(`the key template is a ${typeof template}, not a list`);
  if (template.length === 0) return err("the key template is empty");
  if (template.length > MAX_KEY_SEGMENTS) {
    return err(`the key template has ${template.length} segments, at most ${MAX_KEY_SEGMENTS}`);
  }
  const segments: KeySegment[] = [];
  for (const text of template) {
    if (typeof text !== "string") return err(`the key segment ${String(text)} is not a string`);
    if (text === "") return err("a key segment is empty; a pointer begins with /");
    if (!text.startsWith("/")) {
      segments.push({ kind: "constant", text });
      continue;
    }
    if (/~(?![01])/.test(text)) {
      return err(`the JSON pointer ${JSON.stringify(text)} has a ~ that is not ~0 or ~1`);
    }
    segments.push({ kind: "pointer", pointer: text, path: pointerPath(text) });
  }
  return ok(segments);
}

function pointerPath(pointer: string): string[] {
  // ~1 first, or "~01" (a literal "~1") would become "/".
  return pointer.slice(1).split("/").map((token) =>
    token.replaceAll("~1", "/").replaceAll("~0", "~")
  );
}
