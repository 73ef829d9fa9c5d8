/**
 * Admitting work and starting a try: the write of `started` decides who runs.
 *
 * @module
 */

import { keepWorking, type Settlement } from "../nats/mod.ts";
import type { JobEvent } from "../protocol/mod.ts";
import type { RunningTry } from "./active_job.ts";
import { type Admission, admit, admitFresh } from "./admit.ts";
import { exhaustedEvent } from "./decide.ts";
import type { LifeOptions } from "./job_life.ts";
import { validatePayload } from "./payload.ts";
import type { WorkItem } from "./work_item.ts";

/** Either the try runs, or the delivery is settled without one. */
export type StartOutcome =
  | { readonly kind: "started"; readonly running: RunningTry; readonly payload: unknown }
  | { readonly kind: "settled"; readonly settlement: Settlement };

/** Races against cancels, expiries and other workers; more than this is not a race but a fault. */
const MOST_RACES = 20;
/** When the server will not take an event now (a full stream), the work comes back after this. */
const REFUSED_DELAY_MS = 5_000;

/** Admits the work and stores `started`, or whatever the job's history asks for instead. */
export async function startTry(item: WorkItem, options: LifeOptions): Promise<StartOutcome> {
  const first = firstAdmission(item, options);
  let admission = first instanceof Promise ? await first : first;
  for (let race = 0; race < MOST_RACES; race++) {
    const outcome = await act(item, admission, options);
    if (outcome !== "lost") return outcome;
    admission = admit(item, await options.lifecycle.read(item), options.clock());
  }
  options.log("error", "start-races", { ...options.queue, jobId: item.jobId });
  return settled({ kind: "nak", delayMs: REFUSED_DELAY_MS });
}

/**
 * A first delivery needs no read: the start expects the very event that made the work, and the
 * server tells when that is no longer the newest.
 */
function firstAdmission(item: WorkItem, options: LifeOptions): Admission | Promise<Admission> {
  const { sourceSequence, deliveries } = item;
  if (deliveries === 1 && sourceSequence !== undefined) {
    return admitFresh(item, sourceSequence, options.clock());
  }
  return options.lifecycle.read(item).then((snapshot) => admit(item, snapshot, options.clock()));
}

async function act(
  item: WorkItem,
  admission: Admission,
  options: LifeOptions,
): Promise<StartOutcome | "lost"> {
  if (admission.kind === "over") {
    options.log("debug", "over", { ...options.queue, jobId: item.jobId, why: admission.why });
    return settled({ kind: "ack" });
  }
  const expect = { lastSequence: admission.lastSequence };
  const shared = sharedFields(item, admission, options);
  if (admission.kind === "expire") {
    const event: JobEvent = {
      ...shared,
      eventType: "expired",
      state: "expired",
      error: `the deadline ${item.deadline ?? ""} has passed`,
    };
    return await end(event, expect.lastSequence, options);
  }
  if (admission.kind === "exhausted") {
    const { settings, clock } = options;
    const now = clock();
    const event = exhaustedEvent(shared, admission.error, admission.previousState, {
      settings,
      now,
    });
    return await end(event, expect.lastSequence, options);
  }
  const judged = validatePayload(options.payload, item.payload);
  const payload = judged instanceof Promise ? await judged : judged;
  if (!payload.ok) {
    const error = `Cannot run: the payload does not fit, ${payload.error}`;
    const tries = admission.tries - 1;
    const event: JobEvent = { ...shared, tries, eventType: "failed", state: "failed", error };
    return await end(event, expect.lastSequence, options);
  }
  const { instanceId } = options;
  const event: JobEvent = { ...shared, eventType: "started", state: "active", instanceId };
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
  return { kind: "started", running, payload: payload.value };
}

async function end(
  event: JobEvent,
  lastSequence: number,
  options: LifeOptions,
): Promise<StartOutcome | "lost"> {
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
): StartOutcome {
  const { kind, description } = outcome;
  options.log("error", "start-unwritten", { ...options.queue, jobId, kind, description });
  return settled(
    kind === "unconfirmed" ? { kind: "leave" } : {
      kind: "nak",
      delayMs: REFUSED_DELAY_MS,
    },
  );
}

function settled(settlement: Settlement): StartOutcome {
  return { kind: "settled", settlement };
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
