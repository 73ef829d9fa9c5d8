/**
 * Running a handler and naming how it ended; whatever it throws, this returns.
 *
 * @module
 */

import { describeIssue, type SchemaResult, type StandardSchema } from "../protocol/mod.ts";
import type { TryOutcome } from "./decide.ts";
import type { JobAborted } from "./handler_signals.ts";

/** A handler with everything around it, ready to be called. */
export type RunHandler = () => unknown;

/** Errors are read by people in lists; a stack or a dump belongs into a log. */
const LONGEST_MESSAGE = 2_000;

/** How a handler is run. */
export interface PerformOptions {
  /** The handler, bound to its job. */
  readonly run: RunHandler;
  /** Resolves when the handler has had its time after an abort; with the reason. */
  readonly abandoned: () => Promise<JobAborted>;
  /** Schema of the result. */
  readonly result: StandardSchema | undefined;
}

/** Runs a handler to its end, or until it is abandoned after an abort. */
export async function perform(options: PerformOptions): Promise<TryOutcome> {
  try {
    let returned = options.run();
    // What returned at once cannot be abandoned, and is not waited for.
    if (isThenable(returned)) {
      returned = await Promise.race([returned, options.abandoned().then(rejectWith)]);
    }
    if (isErr(returned)) return outcomeOf(returned.error);
    const fitted = fitResult(returned, options.result);
    return fitted instanceof Promise ? await fitted : fitted;
  } catch (thrown) {
    return outcomeOf(thrown);
  }
}

/**
 * Names what a handler threw; classes are told by name, so another copy of this package counts too.
 * That a try was aborted is not for the handler to say: whoever aborted it knows.
 */
export function outcomeOf(thrown: unknown): TryOutcome {
  const message = describeThrown(thrown);
  const name = thrown instanceof Error ? thrown.name : "";
  const delayMs = typeof thrown === "object" && thrown !== null && "delayMs" in thrown &&
      typeof thrown.delayMs === "number"
    ? thrown.delayMs
    : undefined;
  if (name === "JobFailed") return { kind: "failed", message };
  if (name === "RetryAfter" && delayMs !== undefined) {
    return { kind: "retry-after", message, delayMs };
  }
  if (name === "Snooze" && delayMs !== undefined) return { kind: "snoozed", message, delayMs };
  return { kind: "threw", message };
}

/** A sentence for people, without stack traces: those do not leave the process. */
export function describeThrown(thrown: unknown): string {
  const text = textOf(thrown);
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}…` : text;
}

/** Total: a handler may throw a value that cannot even be made a text. */
function textOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) {
      return thrown.message === "" ? thrown.name : String(thrown.message);
    }
    const hasMessage = typeof thrown === "object" && thrown !== null && "message" in thrown;
    return String(hasMessage ? thrown.message : thrown);
  } catch {
    return `a thrown ${typeof thrown} that has no text`;
  }
}

function rejectWith(reason: JobAborted): never {
  throw reason;
}

/** `err(...)`: a failure as a value, which counts like a throw. */
export function isErr(value: unknown): value is { readonly ok: false; readonly error: unknown } {
  return typeof value === "object" && value !== null && "ok" in value && value.ok === false &&
    "error" in value;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value &&
    typeof value.then === "function";
}

function fitResult(
  returned: unknown,
  schema: StandardSchema | undefined,
): TryOutcome | Promise<TryOutcome> {
  if (schema === undefined) return { kind: "returned", result: undefined };
  const judged = schema["~standard"].validate(returned);
  return judged instanceof Promise
    ? judged.then((later) => fittedOutcome(returned, later))
    : fittedOutcome(returned, judged);
}

function fittedOutcome(returned: unknown, judged: SchemaResult<unknown>): TryOutcome {
  if (judged.issues === undefined) return { kind: "returned", result: returned };
  const issues = judged.issues.map(describeIssue).join("; ");
  return { kind: "failed", message: `Cannot complete: the result does not fit, ${issues}` };
}
