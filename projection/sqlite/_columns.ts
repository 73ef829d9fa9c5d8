/** Values of columns, read with the type that the schema gives them. */

import type { SQLOutputValue } from "node:sqlite";

/** A text. */
export function text(value: SQLOutputValue | undefined): string {
  if (typeof value === "string") return value;
  throw new TypeError(`Cannot read a column: it holds ${typeof value}, not a text`);
}

/** A whole number. */
export function integer(value: SQLOutputValue | undefined): number {
  if (typeof value === "number") return value;
  throw new TypeError(`Cannot read a column: it holds ${typeof value}, not a number`);
}

/** An instant, as the wire has it. */
export function instant(value: SQLOutputValue | undefined): string {
  return new Date(integer(value)).toISOString();
}

/**
 * Writes a document as JSON. What came as JSON can always be written so, but for one thing: older
 * engines read nesting of any depth and cannot write it. The stream still has it.
 */
export function encodeDocument(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return JSON.stringify("(nested too deeply to be kept here; the stream has it)");
  }
}
