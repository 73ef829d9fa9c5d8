/**
 * Storing how a try in a slot ended: ownership first, then the end, then the slot is given up.
 *
 * @module
 */

import type { Settlement } from "../nats/mod.ts";
import { isTerminal, type JobEvent } from "../protocol/mod.ts";
import type { RunningTry } from "./active_job.ts";
import type { TryOutcome, Verdict } from "./decide.ts";
import type { LifeOptions } from "./job_life.ts";
import type { KeyedTry } from "./keyed_try.ts";
import { recordVerdict } from "./record.ts";

/** Stores the verdict's event if the slot is still ours, and gives the slot up. */
export async function recordKeyed(
  verdict: Verdict,
  outcome: TryOutcome,
  keyed: KeyedTry,
  running: RunningTry,
  options: LifeOptions,
): Promise<Settlement> {
  const { event } = verdict;
  const lost = outcome.kind === "aborted" && outcome.reason === "lease-lost";
  if (event === undefined && !lost) {
    await giveUp(keyed, verdict.settlement, options);
    return verdict.settlement;
  }
  if (event === undefined || !await isOwner(keyed)) {
    const settlement = await recordIgnored(outcome, keyed, running, options);
    await giveUp(keyed, settlement, options);
    return settlement;
  }
  const owned = { ...verdict, event: withToken(event, keyed) };
  const settlement = await recordVerdict(owned, running, options);
  if (running.beatenBy === "stale") await recordIgnored(outcome, keyed, running, options);
  await giveUp(keyed, settlement, options);
  return settlement;
}

/** The end of a job proves by the token whose it is; a job that comes back holds nothing. */
function withToken(event: JobEvent, keyed: KeyedTry): JobEvent {
  switch (event.eventType) {
    case "completed":
    case "failed":
    case "dead":
      return { ...event, concurrency: keyed.ended() };
    default:
      return event;
  }
}

/** An end with our token frees the slot, so a handler that goes on must be known to do so before. */
function isOwner({ slot, handlerRuns }: KeyedTry): Promise<boolean> {
  return handlerRuns() ? slot.linger() : slot.confirm();
}

/**
 * Gives the slot up when the handler has returned: at once, as a rule. A job that comes back gets its
 * place in line again, and others pass it while it waits.
 */
async function giveUp(
  { slot, handlerRuns, handlerReturned }: KeyedTry,
  settlement: Settlement,
  { clock }: LifeOptions,
): Promise<void> {
  const { kind } = settlement;
  const notBefore = kind === "nak" && settlement.delayMs > 0
    ? clock() + settlement.delayMs
    : undefined;
  const give = () => kind === "ack" ? slot.release() : slot.handBack(notBefore);
  if (!handlerRuns()) return await give();
  void handlerReturned().then(give);
}

/** Somebody else may have the slot: what this try came to does not count, and is only noted. */
async function recordIgnored(
  outcome: TryOutcome,
  keyed: KeyedTry,
  { shared }: RunningTry,
  { lifecycle, clock, instanceId }: LifeOptions,
): Promise<Settlement> {
  const snapshot = await lifecycle.read(shared);
  if (snapshot === undefined) return { kind: "ack" };
  const { state } = snapshot.job;
  await lifecycle.write({
    ...shared,
    previousState: state,
    state,
    timestamp: new Date(clock()).toISOString(),
    eventType: "staleCompletionIgnored",
    error: `${instanceId} lost the slot of key ${keyed.key.key}; its try ${said(outcome)}`,
    concurrency: { ...keyed.ended(), instanceId },
  });
  // A job that nobody has ended must run again: its delivery comes back by itself.
  return isTerminal(state) ? { kind: "ack" } : { kind: "leave" };
}

function said(outcome: TryOutcome): string {
  switch (outcome.kind) {
    case "returned":
      return "had returned";
    case "aborted":
      return `was aborted, ${outcome.message}`;
    default:
      return `had ended, ${outcome.message}`;
  }
}
