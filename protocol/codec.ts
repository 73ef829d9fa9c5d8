/**
 * Bytes ⇄ events. Bad input is a value with a reason, never a throw.
 *
 * @module
 */

import type { z } from "zod";
import { isJobEventType, jobEventSchema } from "./event_schemas.ts";
import type { JobEvent } from "./events.ts";
import { isPlainCreated } from "./_plain_created.ts";
import { err, ok, type Result } from "./result.ts";
import { lifecycleSubject, parseLifecycleSubject } from "./subjects.ts";

/** Why a message is not an event. */
export type DecodeReason =
  /** The subject is not a lifecycle subject. */
  | "subject"
  /** The server wrote it there on somebody's behalf: a reply, not a publish. */
  | "foreign"
  /** Larger than any server lets a message be. */
  | "too-large"
  /** The body is not UTF-8 JSON. */
  | "not-json"
  /** A newer version's event: to be skipped, not to be feared. */
  | "unknown-event"
  /** The body is JSON but not an event. */
  | "malformed"
  /** The body speaks of another job or event than the subject. */
  | "mismatch";

/** What is wrong with a message. */
export interface DecodeProblem {
  /** The kind of problem, to be counted by. */
  readonly reason: DecodeReason;
  /** A sentence for people. */
  readonly message: string;
  /** Where in the body, as a dotted path. */
  readonly field?: string;
}

/** What is wrong with an event that cannot be written. */
export interface EncodeProblem {
  /** Always the same: the value has no JSON form. */
  readonly reason: "not-serializable";
  /** A sentence for people. */
  readonly message: string;
}

/** The part of message headers that decoding looks at. */
export interface HeaderReader {
  /** Tells whether a header is there. */
  has(name: string): boolean;
}

/** The largest message that nats-server can be configured to accept. */
export const MAX_MESSAGE_BYTES: number = 64 * 1024 * 1024;

/** Headers that only the server's own replies carry: whoever has them did not publish an event. */
export const FOREIGN_HEADERS: readonly string[] = ["Nats-Stream", "Nats-Subject"];

const decoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

/**
 * Reads a stored message as an event, and checks that body, subject and headers agree.
 *
 * @example
 * ```ts
 * import { decodeEvent } from "./codec.ts";
 * import assert from "node:assert/strict";
 *
 * const subject = "trellis.jobs.billing.charge.01JZ6N5V4T8Y3K2QX9W7R5M1AB.created";
 * const decoded = decodeEvent(subject, new TextEncoder().encode("hello"));
 * assert.equal(decoded.ok === false && decoded.error.reason, "not-json");
 * ```
 */
export function decodeEvent(
  subject: string,
  data: Uint8Array,
  headers?: HeaderReader,
): Result<JobEvent, DecodeProblem> {
  const parsed = parseLifecycleSubject(subject);
  if (!parsed.ok) return problem("subject", parsed.error);
  if (!isJobEventType(parsed.value.eventType)) {
    return problem("unknown-event", `the event type "${parsed.value.eventType}" is not known`);
  }
  const decoded = decodeEventBody(data, headers);
  if (!decoded.ok) return decoded;
  const own = lifecycleSubject(decoded.value, decoded.value.eventType);
  if (own === subject) return decoded;
  return problem("mismatch", `the body is about ${own}, the subject is ${subject}`);
}

/**
 * Reads a body as an event without a lifecycle subject to compare with: work messages, whose
 * subject has only service and type. The caller compares those.
 *
 * @example
 * ```ts
 * import { decodeEventBody } from "./codec.ts";
 * import assert from "node:assert/strict";
 *
 * const decoded = decodeEventBody(new TextEncoder().encode("{}"));
 * assert.equal(decoded.ok === false && decoded.error.reason, "malformed");
 * ```
 */
export function decodeEventBody(
  data: Uint8Array,
  headers?: HeaderReader,
): Result<JobEvent, DecodeProblem> {
  const json = decodeJson(data, headers);
  return json.ok ? validate(json.value) : json;
}

/** Reads bytes as JSON after the checks that every message of ours must pass. */
export function decodeJson(
  data: Uint8Array,
  headers?: HeaderReader,
): Result<unknown, DecodeProblem> {
  const foreign = FOREIGN_HEADERS.find((name) => headers?.has(name) === true);
  if (foreign !== undefined) return problem("foreign", `it carries the header ${foreign}`);
  if (data.length > MAX_MESSAGE_BYTES) {
    return problem("too-large", `it has ${data.length} bytes, at most ${MAX_MESSAGE_BYTES}`);
  }
  try {
    return ok(JSON.parse(decoder.decode(data)));
  } catch (cause) {
    return problem("not-json", cause instanceof Error ? cause.message : String(cause));
  }
}

/** Turns a schema's complaint into a problem that names the first bad field. */
export function schemaProblem(
  error: z.ZodError,
): { readonly ok: false; readonly error: DecodeProblem } {
  const issue = error.issues[0];
  const field = issue?.path.join(".") ?? "";
  const message = `${field === "" ? "the body" : field}: ${issue?.message ?? "not readable"}`;
  return err({ reason: "malformed", message, ...(field !== "" && { field }) });
}

/**
 * Writes an event as JSON bytes; a payload or result that JSON cannot hold is a value.
 *
 * @example
 * ```ts
 * import { encodeJson } from "./codec.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(encodeJson({ a: 1 }).ok, true);
 * assert.equal(encodeJson({ a: 1n }).ok, false);
 * ```
 */
export function encodeJson(value: unknown): Result<Uint8Array, EncodeProblem> {
  try {
    const text = JSON.stringify(value);
    if (text !== undefined) return ok(encoder.encode(text));
    return err({ reason: "not-serializable", message: `a ${typeof value} has no JSON form` });
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    return err({ reason: "not-serializable", message });
  }
}

/** Writes an event; see {@linkcode encodeJson}. */
export function encodeEvent(event: JobEvent): Result<Uint8Array, EncodeProblem> {
  return encodeJson(event);
}

/**
 * Says why nobody could read an event once it is stored, or `undefined` when all could. For events
 * with values of a caller: types are a promise that JavaScript does not keep.
 *
 * @example
 * ```ts
 * import { eventProblem } from "./codec.ts";
 * import type { JobEvent } from "./events.ts";
 * import assert from "node:assert/strict";
 *
 * assert.match(eventProblem({ eventType: "created" } as JobEvent) ?? "", /jobId/);
 * ```
 */
export function eventProblem(event: JobEvent): string | undefined {
  const encoded = encodeEvent(event);
  if (!encoded.ok) return encoded.error.message;
  const decoded = decodeEventBody(encoded.value);
  return decoded.ok ? undefined : decoded.error.message;
}

function validate(json: unknown): Result<JobEvent, DecodeProblem> {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    return problem("malformed", "the body is not an object");
  }
  const eventType = "eventType" in json ? json.eventType : undefined;
  if (typeof eventType === "string" && !isJobEventType(eventType)) {
    return problem("unknown-event", `the event type ${JSON.stringify(eventType)} is not known`);
  }
  if (isPlainCreated(json)) return ok(json);
  const checked = jobEventSchema.safeParse(json);
  return checked.success ? ok(checked.data) : schemaProblem(checked.error);
}

function problem(
  reason: DecodeReason,
  message: string,
): { readonly ok: false; readonly error: DecodeProblem } {
  return err({ reason, message });
}
