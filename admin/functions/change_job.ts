/**
 * Steering one job: find it, write the event, wait until the lists have it.
 *
 * @module
 */

import type { CommandError, CommandFailure } from "../../jobs/mod.ts";
import {
  addressOf,
  err,
  isTerminal,
  type JobAddress,
  ok,
  type Result,
} from "../../protocol/mod.ts";
import { AdminError, type AdminErrorCode } from "../errors.ts";
import type {
  AgainRequest,
  EndRequest,
  JobRequest,
  MutationResponse,
  PurgeResponse,
} from "../messages/jobs.ts";
import type { CommandAnswer } from "../ports.ts";
import type { CallContext } from "../procedure.ts";
import { findJob } from "./list_jobs.ts";

const CODE_OF: Readonly<Record<CommandFailure, AdminErrorCode>> = {
  "not-found": "not_found",
  "wrong-state": "wrong_state",
  "busy": "busy",
  "unconfirmed": "unconfirmed",
  "refused": "unavailable",
};

/** Puts a failed job back to work. */
export function retryJob(
  { id, ...options }: AgainRequest,
  context: CallContext,
): Promise<Result<MutationResponse, AdminError>> {
  const { ports: { jobs }, identity: { actor } } = context;
  return change("retry", id, context, (job) => jobs.retry(job, { ...options, actor }));
}

/** Puts a dead job back to work. */
export function replayJob(
  { id, ...options }: AgainRequest,
  context: CallContext,
): Promise<Result<MutationResponse, AdminError>> {
  const { ports: { jobs }, identity: { actor } } = context;
  return change("replay", id, context, (job) => jobs.replay(job, { ...options, actor }));
}

/** Ends a job that waits or runs. */
export function cancelJob(
  { id, ...options }: EndRequest,
  context: CallContext,
): Promise<Result<MutationResponse, AdminError>> {
  const { ports: { jobs }, identity: { actor } } = context;
  return change("cancel", id, context, (job) => jobs.cancel(job, { ...options, actor }));
}

/** Closes a dead job. */
export function dismissJob(
  { id, ...options }: EndRequest,
  context: CallContext,
): Promise<Result<MutationResponse, AdminError>> {
  const { ports: { jobs }, identity: { actor } } = context;
  return change("dismiss", id, context, (job) => jobs.dismiss(job, { ...options, actor }));
}

/** Removes a finished job for good. */
export async function purgeJob(
  { id }: JobRequest,
  { ports }: CallContext,
): Promise<Result<PurgeResponse, AdminError>> {
  const found = await findJob(ports.store, "purge", id);
  if (!found.ok) return found;
  const { state } = found.value.summary;
  if (!isTerminal(state)) {
    const message = `Cannot purge job ${id}: it is ${state}; cancel it first`;
    return err(new AdminError("wrong_state", message, { state, field: "id" }));
  }
  if (await ports.purge(found.value)) return ok({ id });
  return err(new AdminError("busy", `Cannot purge job ${id}: it has just changed, look again`));
}

/** A failed command as a caller is told of it. */
export function fromCommandError({ reason, message, job }: CommandError): AdminError {
  const state = job === undefined ? {} : { state: job.state, field: "id" };
  return new AdminError(CODE_OF[reason], message, { reason, ...state });
}

async function change(
  verb: string,
  id: string,
  { ports }: CallContext,
  command: (job: JobAddress) => CommandAnswer,
): Promise<Result<MutationResponse, AdminError>> {
  const found = await findJob(ports.store, verb, id);
  if (!found.ok) return found;
  const commanded = await command(addressOf(found.value.summary));
  if (!commanded.ok) return err(fromCommandError(commanded.error));
  const { job, sequence } = commanded.value;
  return ok({ job, projected: await ports.projected(sequence) });
}
