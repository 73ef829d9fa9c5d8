/**
 * What differs between a stream as it stands and as it is wanted.
 *
 * @module
 */

import { canonicalJson } from "./schema_change.ts";
import type { StreamTopology } from "./topology.ts";

/** One field that differs. */
export interface StreamDrift {
  /** The field, as the server names it. */
  readonly field: string;
  /** What the server has. */
  readonly found: unknown;
  /** What is wanted. */
  readonly wanted: unknown;
}

/** Fields that can be changed on a living stream without losing or redirecting a message. */
export const UPDATABLE_FIELDS: ReadonlySet<string> = new Set(
  [
    "discard",
    "allow_direct",
    "allow_rollup_hdrs",
    "allow_atomic",
    "duplicate_window",
    "max_age",
    "max_bytes",
  ] satisfies (keyof StreamTopology)[],
);

/**
 * Lists the wanted fields that the found configuration does not have. Fields that nobody asked for
 * are the server's or the operator's, and the description is for people: neither is drift.
 *
 * @example
 * ```ts
 * import { serverCapabilities } from "./capabilities.ts";
 * import { streamDrift } from "./drift.ts";
 * import { valueOrThrow } from "./result.ts";
 * import { topology } from "./topology.ts";
 * import assert from "node:assert/strict";
 *
 * const capabilities = valueOrThrow(serverCapabilities("2.15.1"));
 * const [jobs] = topology({ capabilities, replicas: 1 });
 * assert.ok(jobs);
 * assert.deepEqual(streamDrift({ ...jobs }, jobs), []);
 * assert.deepEqual(streamDrift({ ...jobs, discard: "old" }, jobs), [
 *   { field: "discard", found: "old", wanted: "new" },
 * ]);
 * ```
 */
export function streamDrift(
  found: Readonly<Record<string, unknown>>,
  wanted: StreamTopology,
): readonly StreamDrift[] {
  return Object.entries(wanted)
    .filter(([field, value]) => field !== "description" && !covers(found[field], value))
    .map(([field, value]) => ({ field, found: found[field], wanted: value }));
}

/** The server leaves out what is false, and adds defaults inside of what it was given. */
function covers(found: unknown, wanted: unknown): boolean {
  if (wanted === false) return found === false || found === undefined;
  if (Array.isArray(wanted)) {
    return Array.isArray(found) && found.length === wanted.length &&
      wanted.every((item, index) => covers(found[index], item));
  }
  if (typeof wanted === "object" && wanted !== null) {
    if (typeof found !== "object" || found === null) return false;
    const fields = new Map<string, unknown>(Object.entries(found));
    return Object.entries(wanted).every(([key, value]) => covers(fields.get(key), value));
  }
  return canonicalJson(found) === canonicalJson(wanted);
}
