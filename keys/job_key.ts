/**
 * The key of a job: a template of constants and pointers, filled from the payload.
 *
 * @module
 */

import { err, JobsError, type KeySegment, ok, type Result } from "../protocol/mod.ts";

/** The key of one job. */
export interface JobKey {
  /** The key for people: the segments joined with `:`. Different keys can look the same. */
  readonly key: string;
  /** SHA-256 of the typed segments: `42` and `"42"` differ. */
  readonly keyHash: string;
}

/** Why a payload has no key. */
export type JobKeyFailure =
  /** There is nothing where the pointer points. */
  | "missing"
  /** There is something that has no text of its own: a fraction, null, a list, an object. */
  | "not-scalar"
  /** The key is longer than {@linkcode MAX_KEY_LENGTH}. */
  | "too-long";

/** The longest key, in UTF-16 units: it is on every event of the job and in the key's entry. */
export const MAX_KEY_LENGTH = 1_024;

type Scalar = string | number | boolean;

/**
 * Derives a job's key. The hash is over `{"version":1,"segments":[…]}` with the typed values, so that
 * every language comes to the same; that is why fractions are refused, whose texts differ.
 *
 * @example
 * ```ts
 * import { parseKeyTemplate, valueOrThrow } from "../protocol/mod.ts";
 * import { deriveJobKey } from "./job_key.ts";
 * import assert from "node:assert/strict";
 *
 * const template = valueOrThrow(parseKeyTemplate(["tenant", "/origin", "/ticket/id", "/urgent"]));
 * const payload = { origin: "zendesk", ticket: { id: 42 }, urgent: true };
 * assert.deepEqual(valueOrThrow(await deriveJobKey(template, payload)), {
 *   key: "tenant:zendesk:42:true",
 *   keyHash: "e8c14138e88d2132a5a2ed2c28ecd649a7d68edbe6a123fe4754c696663ca5c1",
 * });
 * ```
 */
export async function deriveJobKey(
  template: readonly KeySegment[],
  payload: unknown,
): Promise<Result<JobKey, JobsError<JobKeyFailure>>> {
  const segments: Scalar[] = [];
  for (const segment of template) {
    const value = segment.kind === "constant" ? ok(segment.text) : resolve(segment, payload);
    if (!value.ok) return value;
    segments.push(value.value);
  }
  const key = segments.join(":");
  if (key.length > MAX_KEY_LENGTH) {
    return failure("too-long", `it has ${key.length} characters, at most ${MAX_KEY_LENGTH}`);
  }
  const text = encoder.encode(JSON.stringify({ version: 1, segments }));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  const keyHash = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return ok({ key, keyHash });
}

const encoder = new TextEncoder();

function resolve(
  { pointer, path }: Extract<KeySegment, { kind: "pointer" }>,
  payload: unknown,
): Result<Scalar, JobsError<JobKeyFailure>> {
  let found: unknown = payload;
  for (const token of path) {
    found = child(found, token);
    if (found === undefined) return failure("missing", `the payload has nothing at ${pointer}`);
  }
  if (typeof found === "boolean") return ok(found);
  if (typeof found === "string" && found.isWellFormed()) return ok(found);
  // -0 is written as 0, so it is 0.
  if (typeof found === "number" && Number.isSafeInteger(found)) return ok(found + 0);
  return failure(
    "not-scalar",
    `${pointer} is ${shown(found)}, not a text, a whole number, true or false`,
  );
}

function child(parent: unknown, token: string): unknown {
  if (typeof parent !== "object" || parent === null) return undefined;
  if (Array.isArray(parent)) {
    return /^(0|[1-9]\d*)$/.test(token) ? parent[Number(token)] : undefined;
  }
  return Object.entries(parent).find(([name]) => name === token)?.[1];
}

function shown(value: unknown): string {
  if (value === null || typeof value === "number") return String(value);
  if (typeof value === "string") return "a text with half a character";
  return Array.isArray(value) ? "a list" : `a value of type ${typeof value}`;
}

function failure(
  reason: JobKeyFailure,
  why: string,
): Result<never, JobsError<JobKeyFailure>> {
  return err(new JobsError(reason, `Cannot derive the job's key: ${why}`));
}
