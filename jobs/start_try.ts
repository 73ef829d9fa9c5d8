/**
 * Admitting work and starting a try: the write of `started` decides who runs.
 *
 * @module
 */

import { keepWorking, type Settlement } from "../nats/mod.ts";
import type { JobEvent, Result } from "../protocol/mod.ts";
import type { RunningTry } from "./active_job.ts";
import { type Admission, admit, admitFresh } from "./admit.ts";
import { exhaustedEvent } from "./decide.ts";
import type { LifeOptions } from "./job_life.ts";
import type { KeyedTry } from "./keyed_try.ts";
import { validatePayload } from "./payload.ts";
import type { WorkItem } from "./work_item.ts";

/** The delivery is settled without a try. */
export interface SettledOutcome {
  /** The discriminant. */
  readonly kind: "settled";
  /** How. */
  readonly settlement: Settlement;
}

/** Either the try runs, or the delivery is settled without one. */
export type StartOutcome =
  | { readonly kind: "started"; readonly running: RunningTry; readonly payload: unknown }
  | SettledOutcome;

/** Work that may run. */
export type RunAdmission = Extract<Admission, { readonly kind: "run" }>;

/** Races against cancels, expiries and other workers; more than this is not a race but a fault. */
export const MOST_RACES = 20;
/** When the server will not take an event now (a full stream), the work comes back after this. */
export const REFUSED_DELAY_MS = 5_000;

/** Admits the work and stores `started`, or whatever the job's history asks for instead. */
export async function startTry(item: WorkItem, options: LifeOptions): Promise<StartOutcome> {
  const first = firstAdmission(item, options);
  let admission = first instanceof Promise ? await first : first;
  for (let race = 0; race < MOST_RACES; race++) {
    const outcome = await act(item, admission, options);
    if (outcome !== "lost") return outcome;
    admission = await readmit(item, options);
  }
  return tooManyRaces(item, options);
}

/**
 * A first delivery needs no read: the start expects the very event that made the work, and the
 * server tells when that is no longer the newest.
 */
export function firstAdmission(
  item: WorkItem,
  options: LifeOptions,
): Admission | Promise<Admission> {
  const { sourceSequence, deliveries } = item;
  if (deliveries === 1 && sourceSequence !== undefined) {
    return admitFresh(item, sourceSequence, options.clock());
  }
  return readmit(item, options);
}

/** Admits the work by what its history says now. */
export async function readmit(item: WorkItem, options: LifeOptions): Promise<Admission> {
  return admit(item, await options.lifecycle.read(item), options.clock());
}

/** Stores the end of a job that will not run, if it has none yet. */
export async function endUntried(
  item: WorkItem,
  admission: Exclude<Admission, RunAdmission>,
  options: LifeOptions,
): Promise<SettledOutcome | "lost"> {
  if (admission.kind === "over") {
    options.log("debug", "over", { ...options.queue, jobId: item.jobId, why: admission.why });
    return settled({ kind: "ack" });
  }
  const shared = sharedFields(item, admission, options);
  if (admission.kind === "expire") {
    const event: JobEvent = {
      ...shared,
      eventType: "expired",
      state: "expired",
      error: `the deadline ${item.deadline ?? ""} has passed`,
    };
    return await end(event, admission.lastSequence, options);
  }
  const { settings, clock } = options;
  const now = clock();
  const event = exhaustedEvent(shared, admission.error, admission.previousState, { settings, now });
  return await end(event, admission.lastSequence, options);
}

/** Ends a job that can never run, whoever tries. */
export async function refuse(
  item: WorkItem,
  admission: RunAdmission,
  why: string,
  options: LifeOptions,
): Promise<SettledOutcome | "lost"> {
  const event: JobEvent = {
    ...sharedFields(item, admission, options),
    tries: admission.tries - 1,
    eventType: "failed",
    state: "failed",
    error: `Cannot run: ${why}`,
  };
  return await end(event, admission.lastSequence, options);
}

/** Stores `started`, in a slot if the queue has keys. */
export async function begin(
  item: WorkItem,
  admission: RunAdmission,
  payload: Result<unknown, string>,
  options: LifeOptions,
  keyed?: KeyedTry,
): Promise<StartOutcome | "lost"> {
  if (!payload.ok) {
    return await refuse(item, admission, `the payload does not fit, ${payload.error}`, options);
  }
  const shared = sharedFields(item, admission, options);
  const { instanceId } = options;
  const event: JobEvent = {
    ...shared,
    eventType: "started",
    state: "active",
    instanceId,
    ...(keyed !== undefined && { concurrency: keyed.started() }),
  };
  const expect = { lastSequence: admission.lastSequence };
  const outcome = await options.lifecycle.write(event, { expect });
  if (outcome.kind === "lost") return "lost";
  if (outcome.kind !== "stored") return unwritten(outcome, item, options);
  const { jobId, service, jobType, context, tries } = shared;
  const running: RunningTry = {
    shared: { jobId, service, jobType, context, tries },
    sequence: outcome.sequence,
    active: true,
    keepWorking: () => keepWorking(options.connection, item.reply),
  };
  if (keyed !== undefined) running.keyed = keyed;
  return { kind: "started", running, payload: payload.value };
}

/** More races than there can be: the work goes back for a while. */
export function tooManyRaces(item: WorkItem, options: LifeOptions): SettledOutcome {
  options.log("error", "start-races", { ...options.queue, jobId: item.jobId });
  return settled({ kind: "nak", delayMs: REFUSED_DELAY_MS });
}

/** A delivery that is settled without a try. */
export function settled(settlement: Settlement): SettledOutcome {
  return { kind: "settled", settlement };
}

function act(
  item: WorkItem,
  admission: Admission,
  options: LifeOptions,
): Promise<StartOutcome | "lost"> {
  if (admission.kind !== "run") return endUntried(item, admission, options);
  const judged = validatePayload(options.payload, item.payload);
  return judged instanceof Promise
    ? judged.then((payload) => begin(item, admission, payload, options))
    : begin(item, admission, judged, options);
}

async function end(
  event: JobEvent,
  lastSequence: number,
  options: LifeOptions,
): Promise<SettledOutcome | "lost"> {
  const outcome = await options.lifecycle.write(event, { expect: { lastSequence } });
  if (outcome.kind === "lost") return "lost";
  if (outcome.kind === "stored") return settled({ kind: "ack" });
  return unwritten(outcome, event, options);
}

/** Nothing is stored, or nobody knows: the work stays in the queue and comes back. */
function unwritten(
  outcome: { readonly kind: string; readonly description?: string },
  { jobId }: { readonly jobId: string },
  options: LifeOptions,
): SettledOutcome {
  const { kind, description } = outcome;
  options.log("error", "start-unwritten", { ...options.queue, jobId, kind, description });
  return settled(
    kind === "unconfirmed" ? { kind: "leave" } : { kind: "nak", delayMs: REFUSED_DELAY_MS },
  );
}

function sharedFields(
  item: WorkItem,
  admission: Exclude<Admission, { kind: "over" }>,
  options: LifeOptions,
) {
  return {
    jobId: item.jobId,
    service: item.service,
    jobType: item.jobType,
    context: item.context,
    tries: admission.tries,
    previousState: admission.previousState,
    timestamp: new Date(options.clock()).toISOString(),
  };
}
