/**
 * What follows from how a try ended: the event to store, and how the delivery is settled after it.
 *
 * @module
 */

import type { Settlement } from "../nats/mod.ts";
import {
  backoffMs,
  type JobContext,
  type JobEvent,
  type QueueSettings,
  withJitterMs,
} from "../protocol/mod.ts";
import type { AbortReason } from "./handler_signals.ts";

/** How a try ended. */
export type TryOutcome =
  | { readonly kind: "returned"; readonly result: unknown }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "threw"; readonly message: string }
  | { readonly kind: "retry-after"; readonly message: string; readonly delayMs: number }
  | { readonly kind: "snoozed"; readonly message: string; readonly delayMs: number }
  | { readonly kind: "aborted"; readonly reason: AbortReason; readonly message: string };

/** The try that ended. */
export interface EndedTry {
  /** The job. */
  readonly jobId: string;
  /** Its service. */
  readonly service: string;
  /** Its queue. */
  readonly jobType: string;
  /** Its correlation. */
  readonly context: JobContext;
  /** The number of the try. */
  readonly tries: number;
  /** Tries it has. */
  readonly maxTries: number;
}

/** What is to be stored, and what is said to the work stream once it is. */
export interface Verdict {
  /** The event; none when somebody else has ended the job. */
  readonly event?: JobEvent;
  /** How the delivery is settled after the event is stored. */
  readonly settlement: Settlement;
}

/** What a decision depends on beside the try and its outcome. */
export interface DecideOptions {
  /** The queue. */
  readonly settings: QueueSettings;
  /** The present instant. */
  readonly now: number;
  /** Chance, for the jitter: from 0 to 1. */
  readonly random: () => number;
}

const ACK: Settlement = { kind: "ack" };

/** Decides what follows from a try's end. */
export function decide(ended: EndedTry, outcome: TryOutcome, options: DecideOptions): Verdict {
  const shared = sharedFields(ended, options.now);
  switch (outcome.kind) {
    case "returned": {
      const result = outcome.result === undefined ? {} : { result: outcome.result };
      return {
        event: { ...shared, eventType: "completed", state: "completed", ...result },
        settlement: ACK,
      };
    }
    case "failed":
      return {
        event: { ...shared, eventType: "failed", state: "failed", error: outcome.message },
        settlement: ACK,
      };
    case "snoozed":
      return giveBack(ended, outcome.message, "snooze", outcome.delayMs, options.now);
    case "retry-after":
      return again(ended, outcome.message, "error", outcome.delayMs, options);
    case "threw":
      return again(ended, outcome.message, "error", undefined, options);
    case "aborted":
      return afterAbort(ended, outcome.reason, outcome.message, options);
  }
}

/** The end of a job whose tries are used up: `dead`, or `failed` where there is no dead-letter queue. */
export function exhaustedEvent(
  ended: Omit<EndedTry, "maxTries">,
  error: string,
  previousState: JobEvent["state"],
  { settings, now }: Pick<DecideOptions, "settings" | "now">,
): JobEvent {
  const shared = { ...sharedFields(ended, now), previousState, error };
  return settings.dlq
    ? { ...shared, eventType: "dead", state: "dead" }
    : { ...shared, eventType: "failed", state: "failed" };
}

function afterAbort(
  ended: EndedTry,
  reason: AbortReason,
  message: string,
  options: DecideOptions,
): Verdict {
  switch (reason) {
    case "shutdown":
      return giveBack(ended, message, "shutdown", 0, options.now);
    case "timeout":
      return again(ended, message, "timeout", undefined, options);
    case "cancelled":
    case "expired":
      // Whoever aborted it has stored the end already.
      return { settlement: ACK };
    case "lease-lost":
    case "superseded":
      return { settlement: { kind: "leave" } };
  }
}

function again(
  ended: EndedTry,
  error: string,
  reason: "error" | "timeout",
  delayMs: number | undefined,
  options: DecideOptions,
): Verdict {
  if (ended.tries >= ended.maxTries) {
    return { event: exhaustedEvent(ended, error, "active", options), settlement: ACK };
  }
  const wait = delayMs ??
    withJitterMs(backoffMs(options.settings.backoffMs, ended.tries), options.random);
  const shared = sharedFields(ended, options.now);
  return {
    event: { ...shared, eventType: "retry", state: "retry", error, reason },
    settlement: { kind: "nak", delayMs: wait },
  };
}

/** Hands the work back without counting the try: the event carries one try less. */
function giveBack(
  ended: EndedTry,
  error: string,
  reason: "shutdown" | "snooze",
  delayMs: number,
  now: number,
): Verdict {
  const shared = { ...sharedFields(ended, now), tries: Math.max(0, ended.tries - 1) };
  return {
    event: { ...shared, eventType: "retry", state: "retry", error, reason },
    settlement: { kind: "nak", delayMs },
  };
}

function sharedFields(ended: Omit<EndedTry, "maxTries">, now: number) {
  return {
    jobId: ended.jobId,
    service: ended.service,
    jobType: ended.jobType,
    context: ended.context,
    tries: ended.tries,
    previousState: "active" as const,
    timestamp: new Date(now).toISOString(),
  };
}
