/**
 * Judging a payload by its queue's schema.
 *
 * @module
 */

import { describeIssue, err, ok, type Result, type StandardSchema } from "../protocol/mod.ts";

/** Gives the payload as its schema gives it back, or says what does not fit and where. */
export async function validatePayload(
  schema: StandardSchema,
  payload: unknown,
): Promise<Result<unknown, string>> {
  let judged = schema["~standard"].validate(payload);
  // Most schemas judge at once, and the hot path does not wait for those.
  if (judged instanceof Promise) judged = await judged;
  if (judged.issues === undefined) return ok(judged.value);
  return err(judged.issues.map(describeIssue).join("; "));
}
