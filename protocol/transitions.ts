/**
 * The one state machine, as data: which event leads from where to where.
 *
 * The reducer, the worker, the commands, the documents and the dashboard's buttons all read this.
 *
 * @module
 */

import type { JobEventType } from "./events.ts";
import type { JobState } from "./states.ts";

/** Where a job can stand before an event; `none` is before `created`. */
export type JobOrigin = "none" | JobState;

/** One row of the table. */
export interface Transition {
  /** States in which the event takes effect. */
  readonly from: readonly JobOrigin[];
  /** Further states in which it takes effect when it carries `startedAt` (express). */
  readonly fromIfStartedAt?: readonly JobOrigin[];
  /** The state after it; `unchanged` for an event that is only noted. */
  readonly to: JobState | "unchanged";
}

/** The transition table: every event type, and what it does. */
export const TRANSITIONS: Readonly<Record<JobEventType, Transition>> = {
  created: { from: ["none"], to: "pending" },
  started: { from: ["pending", "retry", "active"], to: "active" },
  retry: { from: ["active"], fromIfStartedAt: ["pending", "retry"], to: "retry" },
  progress: { from: ["active"], to: "active" },
  logged: { from: ["active"], to: "active" },
  heartbeat: { from: ["active"], to: "active" },
  completed: { from: ["active"], fromIfStartedAt: ["pending", "retry"], to: "completed" },
  failed: { from: ["active", "pending", "retry"], to: "failed" },
  cancelled: { from: ["pending", "retry", "active"], to: "cancelled" },
  expired: { from: ["pending", "retry", "active"], to: "expired" },
  skipped: { from: ["pending", "retry"], to: "skipped" },
  stale: { from: ["active"], to: "stale" },
  staleCompletionIgnored: {
    from: [
      "pending",
      "active",
      "retry",
      "completed",
      "failed",
      "cancelled",
      "expired",
      "skipped",
      "stale",
      "dead",
      "dismissed",
    ],
    to: "unchanged",
  },
  dead: { from: ["pending", "active", "retry"], to: "dead" },
  retried: { from: ["failed", "dead"], to: "pending" },
  dismissed: { from: ["dead"], to: "dismissed" },
};

/** Every event type, in the order of the table. */
export const JOB_EVENT_TYPES: readonly JobEventType[] = eventTypes(TRANSITIONS);

/**
 * Tells where an event leads from a state, or `undefined` when it has no effect there.
 *
 * @example
 * ```ts
 * import { transition } from "./transitions.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(transition("pending", { eventType: "started" }), "active");
 * assert.equal(transition("completed", { eventType: "cancelled" }), undefined);
 * assert.equal(transition("pending", { eventType: "completed", startedAt: "…" }), "completed");
 * ```
 */
export function transition(
  from: JobOrigin,
  event: { readonly eventType: JobEventType; readonly startedAt?: string },
): JobState | undefined {
  // A newer peer's event type has no row: it is a no-op here, not a crash.
  const row: Transition | undefined = Object.hasOwn(TRANSITIONS, event.eventType)
    ? TRANSITIONS[event.eventType]
    : undefined;
  if (row === undefined) return undefined;
  const legal = row.from.includes(from) ||
    (event.startedAt !== undefined && row.fromIfStartedAt?.includes(from) === true);
  if (!legal) return undefined;
  if (row.to !== "unchanged") return row.to;
  return from === "none" ? undefined : from;
}

/**
 * Lists the states from which an event takes effect without `startedAt`: what a command may act on.
 *
 * @example
 * ```ts
 * import { statesBefore } from "./transitions.ts";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(statesBefore("retried"), ["failed", "dead"]);
 * ```
 */
export function statesBefore(eventType: JobEventType): readonly JobState[] {
  return TRANSITIONS[eventType].from.filter((origin): origin is JobState => origin !== "none");
}

function eventTypes<Key extends string>(table: Readonly<Record<Key, Transition>>): readonly Key[] {
  // Object.keys() widens to string[]; the table's own keys are exactly Key.
  return Object.keys(table) as Key[];
}
