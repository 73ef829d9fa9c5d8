/**
 * Steering many jobs: one after the other, gently, with a result for each.
 *
 * @module
 */

import {
  addressOf,
  err,
  type JobAddress,
  type JobState,
  ok,
  type Result,
  statesBefore,
} from "../../protocol/mod.ts";
import { AdminError, toEnvelope } from "../errors.ts";
import type {
  AgainManyRequest,
  EndManyRequest,
  ItemOutcome,
  ManyRequest,
  ManyResponse,
} from "../messages/bulk.ts";
import type { CommandAnswer, Commanded } from "../ports.ts";
import type { CallContext } from "../procedure.ts";
import { fromCommandError } from "./change_job.ts";
import { findJob } from "./list_jobs.ts";

/** Old jobs are expensive to touch: the server gets as much time for others as each one took. */
const LONGEST_PAUSE_MS = 20;
const LIMIT = 100;

/** Puts failed jobs back to work. */
export function retryMany(
  { deadlineMs, maxTries, ...which }: AgainManyRequest,
  context: CallContext,
): Promise<Result<ManyResponse, AdminError>> {
  const options = againOptions(deadlineMs, maxTries, context);
  const { jobs } = context.ports;
  return changeMany("retry", ["failed"], which, context, (job) => jobs.retry(job, options));
}

/** Puts dead jobs back to work. */
export function replayMany(
  { deadlineMs, maxTries, ...which }: AgainManyRequest,
  context: CallContext,
): Promise<Result<ManyResponse, AdminError>> {
  const options = againOptions(deadlineMs, maxTries, context);
  const { jobs } = context.ports;
  return changeMany("replay", ["dead"], which, context, (job) => jobs.replay(job, options));
}

/** Ends jobs that wait or run. */
export function cancelMany(
  { reason, ...which }: EndManyRequest,
  context: CallContext,
): Promise<Result<ManyResponse, AdminError>> {
  const options = endOptions(reason, context);
  const from = statesBefore("cancelled");
  const { jobs } = context.ports;
  return changeMany("cancel", from, which, context, (job) => jobs.cancel(job, options));
}

/** Closes dead jobs. */
export function dismissMany(
  { reason, ...which }: EndManyRequest,
  context: CallContext,
): Promise<Result<ManyResponse, AdminError>> {
  const options = endOptions(reason, context);
  const { jobs } = context.ports;
  return changeMany("dismiss", ["dead"], which, context, (job) => jobs.dismiss(job, options));
}

function againOptions(
  deadlineMs: number | undefined,
  maxTries: number | undefined,
  { identity: { actor } }: CallContext,
) {
  return {
    actor,
    ...(deadlineMs !== undefined && { deadlineMs }),
    ...(maxTries !== undefined && { maxTries }),
  };
}

function endOptions(reason: string | undefined, { identity: { actor } }: CallContext) {
  return { actor, ...(reason !== undefined && { reason }) };
}

async function changeMany(
  verb: string,
  from: readonly JobState[],
  which: ManyRequest,
  context: CallContext,
  command: (job: JobAddress) => CommandAnswer,
): Promise<Result<ManyResponse, AdminError>> {
  const chosen = await choose(verb, from, which, context);
  if (!chosen.ok) return chosen;
  const { ids, remaining } = chosen.value;
  const results: ItemOutcome[] = [];
  let last = 0;
  for (const id of ids) {
    const begunAt = context.ports.clock();
    const commanded = await changeOne(verb, id, context, command);
    if (commanded.ok) last = Math.max(last, commanded.value.sequence);
    results.push(
      commanded.ok
        ? { id, ok: true, state: commanded.value.job.state }
        : { id, ok: false, error: toEnvelope(commanded.error).error },
    );
    const tookMs = Math.min(context.ports.clock() - begunAt, LONGEST_PAUSE_MS);
    if (ids.length > 1) await new Promise((resolve) => setTimeout(resolve, tookMs));
  }
  const succeeded = results.filter((result) => result.ok).length;
  const failed = results.length - succeeded;
  const projected = last === 0 || await context.ports.projected(last);
  return ok({ results, succeeded, failed, remaining, projected });
}

async function changeOne(
  verb: string,
  id: string,
  { ports: { store } }: CallContext,
  command: (job: JobAddress) => CommandAnswer,
): Promise<Result<Commanded, AdminError>> {
  const found = await findJob(store, verb, id);
  if (!found.ok) return found;
  const commanded = await command(addressOf(found.value.summary));
  return commanded.ok ? commanded : err(fromCommandError(commanded.error));
}

/** A filter acts only on jobs in a state in which it can be done. */
async function choose(
  verb: string,
  from: readonly JobState[],
  { ids, filter = {}, limit = LIMIT }: ManyRequest,
  { ports: { store } }: CallContext,
): Promise<Result<{ ids: readonly string[]; remaining: number }, AdminError>> {
  if (ids !== undefined) return ok({ ids: [...new Set(ids)], remaining: 0 });
  const { state: asked, since, ...queue } = filter;
  const state = asked === undefined ? from : asked.filter((each) => from.includes(each));
  if (state.length === 0) {
    const message = `Cannot ${verb} jobs that are ${asked?.join(" or ")}, only ${
      from.join(" or ")
    }`;
    return err(new AdminError("validation", message, { field: "filter.state" }));
  }
  const { entries, count } = await store.listJobs({
    ...queue,
    state,
    limit,
    ...(since !== undefined && { since: new Date(since).toISOString() }),
  });
  return ok({
    ids: entries.map(({ summary }) => summary.id),
    remaining: Math.max(0, count - entries.length),
  });
}
