/**
 * What a service, a job type, an instance and a job may be called.
 *
 * @module
 */

/** The kinds of name that become one token of a subject. */
export type NameKind = "service" | "job type" | "instance id";

const TOKEN = /^[A-Za-z0-9_-]{1,64}$/;
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** The service name that would make lifecycle subjects collide with worker heartbeats. */
export const RESERVED_SERVICE_NAME = "workers";

/**
 * Says what is wrong with a name, or `undefined` when it is fine.
 *
 * @example
 * ```ts
 * import { nameProblem } from "./names.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(nameProblem("service", "billing"), undefined);
 * assert.match(nameProblem("service", "bil.ling") ?? "", /"bil\.ling" has characters/);
 * ```
 */
export function nameProblem(kind: NameKind, name: string): string | undefined {
  if (typeof name !== "string") return `the ${kind} is a ${typeof name}, not a string`;
  if (name === "") return `the ${kind} is empty`;
  if (name.length > 64) {
    return `the ${kind} ${
      quote(name.slice(0, 64))
    }… has ${name.length} characters, at most 64 are allowed`;
  }
  if (!TOKEN.test(name)) {
    return `the ${kind} ${quote(name)} has characters other than A-Z, a-z, 0-9, _ and -`;
  }
  if (kind === "service" && name === RESERVED_SERVICE_NAME) {
    return `the service name ${quote(name)} is reserved for worker heartbeats`;
  }
  return undefined;
}

/**
 * Throws `TypeError` when a name cannot be a subject token; for names that a programmer wrote.
 *
 * @example
 * ```ts
 * import { assertName } from "./names.ts";
 * import assert from "node:assert/strict";
 *
 * assertName("job type", "chargeCard");
 * assert.throws(() => assertName("service", "workers"), TypeError);
 * ```
 */
export function assertName(kind: NameKind, name: string): void {
  const problem = nameProblem(kind, name);
  if (problem !== undefined) throw new TypeError(`Cannot use this name: ${problem}`);
}

/**
 * Tells whether a text is a job id: a ULID in its canonical upper-case form.
 *
 * @example
 * ```ts
 * import { isJobId } from "./names.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(isJobId("01JZ6N5V4T8Y3K2QX9W7R5M1AB"), true);
 * assert.equal(isJobId("01jz6n5v4t8y3k2qx9w7r5m1ab"), false);
 * ```
 */
export function isJobId(text: string): boolean {
  return ULID.test(text);
}

// deno-lint-ignore no-control-regex -- refusing control characters is the point
const HEADER_TEXT = /^[^\u0000-\u001f\u007f]{1,512}$/;

/**
 * Tells whether a text may be a value of a job's context: it travels in a header too, where a line
 * break would begin another header.
 *
 * @example
 * ```ts
 * import { isHeaderText } from "./names.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(isHeaderText("req-1"), true);
 * assert.equal(isHeaderText("a\r\nNats-Rollup: all"), false);
 * ```
 */
export function isHeaderText(text: string): boolean {
  return HEADER_TEXT.test(text);
}

function quote(text: string): string {
  return JSON.stringify(text);
}
