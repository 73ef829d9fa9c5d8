/**
 * What a handler holds in its hands while it runs.
 *
 * @module
 */

import {
  type AsyncResult,
  asyncResult,
  err,
  type JobContext,
  type JobEvent,
  type JobLogLevel,
  type JobProgress,
  JobsError,
  type JobState,
  ok,
  type QueueSettings,
  type Result,
} from "../protocol/mod.ts";
import type { KeyedTry } from "./keyed_try.ts";
import type { Lifecycle } from "./lifecycle.ts";

/** Why a progress, a log line or a heartbeat was not taken. */
export type ReportFailure = "disabled" | "not-active" | "unconfirmed" | "refused";

/** The lease of a running keyed job. */
export interface JobLease {
  /** Last renewal, RFC 3339. */
  readonly heartbeatAt: string;
  /** When it runs out, RFC 3339. */
  readonly leaseExpiresAt: string;
}

/** A job while its handler runs. */
export interface ActiveJob<Payload> {
  /** ULID. */
  readonly id: string;
  /** The input, as its schema gives it back. */
  readonly payload: Payload;
  /** Correlation: the same on all events of the job. */
  readonly context: JobContext;
  /** The number of this try, from 1. */
  readonly tries: number;
  /** Tries it has. */
  readonly maxTries: number;
  /** The instant after which nobody wants the result, RFC 3339. */
  readonly deadline?: string;
  /** The key, in a keyed queue. */
  readonly key?: string;
  /** The lease, in a keyed queue. */
  readonly lease?: JobLease;
  /** How often the work was delivered, this time included. */
  readonly deliveries: number;
  /** Whether it was delivered before: some of the work may be done already. */
  readonly redelivered: boolean;
  /** Publishes how far it is; resolves when that is stored. */
  progress(progress: JobProgress): AsyncResult<void, JobsError<ReportFailure>>;
  /** Publishes a log line; resolves when it is stored. */
  log(level: JobLogLevel, message: string): AsyncResult<void, JobsError<ReportFailure>>;
  /**
   * Tells the server that the work goes on, and renews the lease of a keyed job; both are done by
   * themselves. Fails with `not-active` when the lease is lost.
   */
  heartbeat(): AsyncResult<void, JobsError<ReportFailure>>;
}

/** What the running try shares with its reports: the place of the job's newest own event. */
export interface RunningTry {
  /** Identity, correlation and count, as every event carries them. */
  readonly shared: Pick<JobEvent, "jobId" | "service" | "jobType" | "context" | "tries">;
  /** Place of the newest event of the job that this worker knows of. */
  sequence: number;
  /** Whether the handler still runs: reports after its end would fall on an ended job. */
  active: boolean;
  /** Extends the acknowledgement deadline. */
  readonly keepWorking: () => void;
  /** The slot it runs in, in a keyed queue. */
  keyed?: KeyedTry;
  /** The state in which another left the job, when its event came before the end of this try. */
  beatenBy?: JobState;
}

/** Makes the reporting half of an active job. */
export function createReports(
  running: RunningTry,
  lifecycle: Lifecycle,
  settings: QueueSettings,
  clock: () => number,
): Pick<ActiveJob<unknown>, "progress" | "log" | "heartbeat"> {
  const report = async (
    allowed: boolean,
    what: string,
    event: () => JobEvent,
  ): Promise<Result<void, JobsError<ReportFailure>>> => {
    if (!allowed) {
      return refuse("disabled", `Cannot publish ${what}: the queue has it switched off`);
    }
    if (!running.active) return refuse("not-active", `Cannot publish ${what}: the try has ended`);
    const outcome = await lifecycle.write(event());
    if (outcome.kind === "stored") {
      running.sequence = Math.max(running.sequence, outcome.sequence);
      return ok(undefined);
    }
    const reason = outcome.kind === "unconfirmed" ? "unconfirmed" : "refused";
    return refuse(
      reason,
      `Cannot publish ${what}: ${"description" in outcome ? outcome.description : outcome.kind}`,
    );
  };
  const shared = () =>
    ({
      ...running.shared,
      state: "active",
      previousState: "active",
      timestamp: new Date(clock()).toISOString(),
    }) as const;
  return {
    progress: (progress) =>
      asyncResult(
        report(
          settings.progress,
          "progress",
          () => ({ ...shared(), eventType: "progress", progress }),
        ),
      ),
    log: (level, message) =>
      asyncResult(report(settings.logs, "a log line", () => {
        const event = shared();
        return {
          ...event,
          eventType: "logged",
          logs: [{ timestamp: event.timestamp, level, message }],
        };
      })),
    heartbeat: () => {
      if (running.active) running.keepWorking();
      return asyncResult(
        running.keyed === undefined ? Promise.resolve(ok(undefined)) : (
          running.keyed.slot.renew().then((held) =>
            held ? ok(undefined) : refuse("not-active", "Cannot go on: the key's lease is lost")
          )
        ),
      );
    },
  };
}

function refuse(reason: ReportFailure, message: string): Result<never, JobsError<ReportFailure>> {
  return err(new JobsError(reason, message));
}
