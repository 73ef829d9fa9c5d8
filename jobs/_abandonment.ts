/** Aborting a handler: it is told at once, and waited for a while, for as long as the reason allows. */

import type { TryOutcome } from "./decide.ts";
import type { AbortReason, JobAborted } from "./handler_signals.ts";

/**
 * How long a handler may go on after its abort before the worker goes on without it. A cancelled
 * handler keeps its place until it returns: nothing waits for it. Work that goes back must go soon.
 */
const GRACE_MS: Readonly<Record<AbortReason, number>> = {
  shutdown: 50,
  timeout: 1_000,
  cancelled: Infinity,
  expired: Infinity,
  superseded: Infinity,
  "lease-lost": Infinity,
};

/** Reasons after which the job is no longer this worker's to end. */
const NOT_OURS: readonly AbortReason[] = ["cancelled", "expired", "superseded", "lease-lost"];

/** The abort of one handler. */
export interface Abandonment {
  /** The signal that the handler watches; made when first asked for. */
  readonly signal: () => AbortSignal;
  /** Resolves when the worker no longer waits for the handler. */
  readonly abandoned: () => Promise<JobAborted>;
  /** Aborts; a second reason counts only for how long to wait. */
  abort(reason: JobAborted): void;
  /** Corrects how the try ended by why it was aborted. */
  explain(outcome: TryOutcome): TryOutcome;
}

/** Makes the abort of one handler. */
export function createAbandonment(): Abandonment {
  let controller: AbortController | undefined;
  let first: JobAborted | undefined;
  let gone: JobAborted | undefined;
  let abandon: (reason: JobAborted) => void = (reason) => gone = reason;
  return {
    signal() {
      controller ??= new AbortController();
      if (first !== undefined && !controller.signal.aborted) controller.abort(first);
      return controller.signal;
    },
    abandoned: () =>
      new Promise((resolve) => {
        if (gone !== undefined) resolve(gone);
        abandon = resolve;
      }),
    abort(reason) {
      first ??= reason;
      const told = first;
      if (controller !== undefined && !controller.signal.aborted) controller.abort(told);
      const graceMs = GRACE_MS[reason.reason];
      if (graceMs !== Infinity) setTimeout(() => abandon(told), graceMs);
    },
    explain(outcome) {
      if (first === undefined) return outcome;
      const aborted: TryOutcome = { kind: "aborted", reason: first.reason, message: first.message };
      if (NOT_OURS.includes(first.reason)) return aborted;
      // A handler that finished all the same has finished; one that threw did so because of the abort.
      return outcome.kind === "returned" || outcome.kind === "failed" ? outcome : aborted;
    },
  };
}
