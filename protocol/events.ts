/**
 * The events of a job's life, as they lie on the wire: a union by `eventType`.
 *
 * A field is on the events that carry it and on no other. Optional fields are left out, never null.
 *
 * @module
 */

import type { JobState } from "./states.ts";

/** Correlation of a job, made once at creation and the same on each of its events. */
export interface JobContext {
  /** The caller's request, or a fresh id. */
  readonly requestId: string;
  /** W3C trace id: 32 lower-case hex digits, the same as in `traceparent`. */
  readonly traceId: string;
  /** W3C trace context of the span that created the job. */
  readonly traceparent: string;
  /** Vendor part of the trace context. */
  readonly tracestate?: string;
}

/** How far a handler has come; every field is optional. */
export interface JobProgress {
  /** Name of the current step. */
  readonly step?: string;
  /** A sentence for people. */
  readonly message?: string;
  /** Units done. */
  readonly current?: number;
  /** Units in all. */
  readonly total?: number;
}

/** How loud a log line is. */
export type JobLogLevel = "info" | "warn" | "error";

/** One line that a handler logged. */
export interface JobLogEntry {
  /** When, as RFC 3339 with milliseconds and `Z`. */
  readonly timestamp: string;
  /** How loud. */
  readonly level: JobLogLevel;
  /** The line. */
  readonly message: string;
}

/** The key of a keyed job, and its lease while it runs. */
export interface JobConcurrency {
  /** The key for people: template segments joined with `:`. */
  readonly key: string;
  /** SHA-256 of the typed segments: what coordination uses. */
  readonly keyHash: string;
  /** Proof of ownership of the active slot. */
  readonly slotToken?: string;
  /** The worker process that holds the slot. */
  readonly instanceId?: string;
  /** Last renewal of the lease. */
  readonly heartbeatAt?: string;
  /** When the lease runs out. */
  readonly leaseExpiresAt?: string;
  /** How often a stale owner was superseded on this key. */
  readonly staleTakeoverCount?: number;
}

/** What the queue policy of a key did when the job was submitted. */
export interface JobQueuePolicy {
  /** The decision. */
  readonly outcome?: "accepted" | "rejected" | "coalesced" | "replaced";
  /** Why. */
  readonly reason?: string;
  /** The job that stood there already. */
  readonly existingJobId?: string;
  /** The job that had to give way. */
  readonly replacedJobId?: string;
}

/** Why a try ended in `retry`. */
export type RetryReason = "error" | "shutdown" | "snooze" | "timeout";

/** What every event carries. */
export interface JobEventBase<Type extends string, State extends JobState> {
  /** ULID of the job. */
  readonly jobId: string;
  /** The service that owns the job. */
  readonly service: string;
  /** The queue of that service. */
  readonly jobType: string;
  /** What happened: the discriminant, and the last token of the subject. */
  readonly eventType: Type;
  /** The state after the event. */
  readonly state: State;
  /** Correlation, the same on every event of the job. */
  readonly context: JobContext;
  /** Tries begun so far, this one included. */
  readonly tries: number;
  /** When, as RFC 3339 with milliseconds and `Z`. */
  readonly timestamp: string;
}

/** What every event but `created` carries. */
export interface JobEventAfter<Type extends string, State extends JobState>
  extends JobEventBase<Type, State> {
  /** The state that the publisher found. */
  readonly previousState: JobState;
}

/** The job exists and waits. */
export interface JobCreatedEvent extends JobEventBase<"created", "pending"> {
  /** The job's input, as JSON. */
  readonly payload: unknown;
  /** How many tries it has. */
  readonly maxTries: number;
  /** The instant after which nobody wants the result. */
  readonly deadline?: string;
  /** Its key, in a keyed queue. */
  readonly concurrency?: JobConcurrency;
  /** What the queue policy decided, in a keyed queue. */
  readonly queuePolicy?: JobQueuePolicy;
}

/** A worker begins a try. */
export interface JobStartedEvent extends JobEventAfter<"started", "active"> {
  /** The worker process. */
  readonly instanceId: string;
  /** The lease, in a keyed queue. */
  readonly concurrency?: JobConcurrency;
}

/** A try ended and another will follow. */
export interface JobRetryEvent extends JobEventAfter<"retry", "retry"> {
  /** What went wrong, for people. */
  readonly error: string;
  /** What kind of end it was. */
  readonly reason?: RetryReason;
  /** When the try began, if no `started` was published for it (express). */
  readonly startedAt?: string;
}

/** The handler told how far it is. */
export interface JobProgressedEvent extends JobEventAfter<"progress", "active"> {
  /** The latest progress. */
  readonly progress: JobProgress;
}

/** The handler logged. */
export interface JobLoggedEvent extends JobEventAfter<"logged", "active"> {
  /** The new lines only. */
  readonly logs: readonly JobLogEntry[];
}

/** The lease of a running keyed job was renewed; not published by default. */
export interface JobHeartbeatEvent extends JobEventAfter<"heartbeat", "active"> {
  /** The renewed lease. */
  readonly concurrency?: JobConcurrency;
}

/** The handler returned a fitting result. */
export interface JobCompletedEvent extends JobEventAfter<"completed", "completed"> {
  /** The handler's result, as JSON; left out when it returned nothing. */
  readonly result?: unknown;
  /** When the try began, if no `started` was published for it (express). */
  readonly startedAt?: string;
  /** The slot that the worker owned, in a keyed queue. */
  readonly concurrency?: JobConcurrency;
}

/** The job failed for good and may be retried by hand. */
export interface JobFailedEvent extends JobEventAfter<"failed", "failed"> {
  /** What went wrong, for people. */
  readonly error: string;
  /** When the try began, if no `started` was published for it (express). */
  readonly startedAt?: string;
  /** The slot that the worker owned, in a keyed queue. */
  readonly concurrency?: JobConcurrency;
}

/** All tries are used up; it waits for an operator. */
export interface JobDeadEvent extends JobEventAfter<"dead", "dead"> {
  /** The last error, for people. */
  readonly error: string;
  /** When the last try began, if no `started` was published for it (express). */
  readonly startedAt?: string;
  /** The slot that the worker owned, in a keyed queue. */
  readonly concurrency?: JobConcurrency;
}

/** Somebody ended the job from outside. */
export interface JobEndedEvent<Type extends "cancelled" | "expired" | "dismissed">
  extends JobEventAfter<Type, Type> {
  /** What went wrong, for people. */
  readonly error?: string;
  /** Why it was done, for people. */
  readonly reason?: string;
  /** Who did it, when an operator did. */
  readonly actor?: string;
  /** The slot that the worker owned, when a worker wrote it in a keyed queue. */
  readonly concurrency?: JobConcurrency;
}

/** The job was cancelled. */
export type JobCancelledEvent = JobEndedEvent<"cancelled">;
/** The job's deadline passed. */
export type JobExpiredEvent = JobEndedEvent<"expired">;
/** An operator closed a dead job. */
export type JobDismissedEvent = JobEndedEvent<"dismissed">;

/** A queue policy replaced the job before it began. */
export interface JobSkippedEvent extends JobEventAfter<"skipped", "skipped"> {
  /** Why, for people. */
  readonly error: string;
  /** The key. */
  readonly concurrency: JobConcurrency;
}

/** The job lost its key lease and was superseded. */
export interface JobStaleEvent extends JobEventAfter<"stale", "stale"> {
  /** Why, for people. */
  readonly error: string;
  /** The key and the lease that ran out. */
  readonly concurrency: JobConcurrency;
  /** Who did it, when an operator released the key. */
  readonly actor?: string;
}

/** A worker that had lost its slot tried to end the job; nothing changes. */
export interface JobStaleCompletionIgnoredEvent
  extends JobEventAfter<"staleCompletionIgnored", JobState> {
  /** What the worker wanted to do, for people. */
  readonly error: string;
  /** The key and the slot that the worker thought it owned. */
  readonly concurrency: JobConcurrency;
}

/** An operator put the job back to work, with all its tries. */
export interface JobRetriedEvent extends JobEventAfter<"retried", "pending"> {
  /** The job's input again: the work queue is fed from this event. */
  readonly payload: unknown;
  /** How many tries it has now. */
  readonly maxTries: number;
  /** A new deadline; none when left out. */
  readonly deadline?: string;
  /** Who did it. */
  readonly actor?: string;
}

/** Everything that can happen to a job. */
export type JobEvent =
  | JobCreatedEvent
  | JobStartedEvent
  | JobRetryEvent
  | JobProgressedEvent
  | JobLoggedEvent
  | JobHeartbeatEvent
  | JobCompletedEvent
  | JobFailedEvent
  | JobDeadEvent
  | JobCancelledEvent
  | JobExpiredEvent
  | JobDismissedEvent
  | JobSkippedEvent
  | JobStaleEvent
  | JobStaleCompletionIgnoredEvent
  | JobRetriedEvent;

/** The name of an event: the last token of its subject. */
export type JobEventType = JobEvent["eventType"];

/** The event of one type. */
export type JobEventOf<Type extends JobEventType> = Extract<JobEvent, { eventType: Type }>;
