/**
 * Judging a payload by its queue's schema.
 *
 * @module
 */

import {
  describeIssue,
  err,
  ok,
  type Result,
  type SchemaResult,
  type StandardSchema,
} from "../protocol/mod.ts";
import { describeThrown } from "./perform.ts";

/**
 * Gives the payload as its schema gives it back, or says what does not fit and where. Most schemas
 * judge at once, and then the answer is no promise: the hot path does not wait for it.
 */
export function validatePayload(
  schema: StandardSchema,
  payload: unknown,
): Result<unknown, string> | Promise<Result<unknown, string>> {
  try {
    const judged = schema["~standard"].validate(payload);
    return judged instanceof Promise ? judged.then(verdictOf).catch(refusal) : verdictOf(judged);
  } catch (thrown) {
    return refusal(thrown);
  }
}

/** A schema that throws has not accepted. */
function refusal(thrown: unknown): Result<never, string> {
  return err(describeThrown(thrown));
}

function verdictOf(judged: SchemaResult<unknown>): Result<unknown, string> {
  if (judged.issues === undefined) return ok(judged.value);
  return err(judged.issues.map(describeIssue).join("; "));
}
