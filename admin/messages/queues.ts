/**
 * Requests about queues, services and their workers, and the answers.
 *
 * @module
 */

import { z } from "zod";
import { queueDeclarationSchema } from "../../protocol/queue_declaration_schema.ts";
import type { JobState, QueueDeclaration } from "../../protocol/mod.ts";
import {
  countField,
  instantAnswer,
  instantField,
  nameField,
  pageAnswer,
  pageFields,
  type PageRequest,
  type PageResponse,
  stateField,
} from "./fields.ts";

/** Jobs per state; states without jobs are left out. */
export type StateCounts = Readonly<Partial<Record<JobState, number>>>;

/** A worker process on one queue, as it was last heard. */
export interface WorkerInfo {
  /** The queue. */
  readonly type: string;
  /** The process. */
  readonly instanceId: string;
  /** Whether it was heard within 90 s and has not said goodbye. */
  readonly live: boolean;
  /** When it was last heard. */
  readonly lastSeenAt: string;
  /** Jobs that it runs at once. */
  readonly concurrency?: number;
  /** The service's own version. */
  readonly version?: string;
}

/** A service, its queues and who works for it. */
export interface ServiceInfo {
  /** The service. */
  readonly name: string;
  /** Its queues, declared or observed. */
  readonly types: readonly string[];
  /** Its jobs. */
  readonly counts: StateCounts;
  /** Workers that are live. */
  readonly liveWorkers: number;
  /** Workers heard within a day. */
  readonly workers: readonly WorkerInfo[];
}

/** What the server says of a queue's work. */
export interface QueueWork {
  /** Jobs that were never handed out. */
  readonly waiting: number;
  /** Jobs that were handed out and not settled: running, held, or waiting for their next try. */
  readonly outstanding: number;
  /** Jobs of those that were handed out more than once. */
  readonly redelivered: number;
  /** Whether nothing is handed out for the moment. */
  readonly paused: boolean;
  /** Until when; left out when it is not paused. */
  readonly pausedUntil?: string;
}

/** A queue: what was declared and what is observed. */
export interface QueueInfo {
  /** The service. */
  readonly service: string;
  /** The queue. */
  readonly type: string;
  /** What the service declared; left out when it declared nothing readable. */
  readonly declared?: QueueDeclaration;
  /** What the server says; left out when no worker has ever begun on it. */
  readonly work?: QueueWork;
  /** Its jobs. */
  readonly counts: StateCounts;
  /** Workers that are live. */
  readonly liveWorkers: number;
  /** Since when the oldest job waits for its first try. */
  readonly oldestPendingAt?: string;
}

/** Which queue. */
export interface QueueRequest {
  /** The service. */
  readonly service: string;
  /** The queue. */
  readonly type: string;
}

/** Hands out nothing of a queue until an instant, or until it is resumed. */
export interface PauseQueueRequest extends QueueRequest {
  /** Until when, RFC 3339; for ten years when left out. */
  readonly until?: string;
}

/** Whether a queue is paused now. */
export interface PauseResponse extends QueueRequest {
  /** Whether nothing is handed out. */
  readonly paused: boolean;
  /** Until when. */
  readonly pausedUntil?: string;
}

/** The schema of {@linkcode StateCounts}. */
export const stateCounts: z.ZodType<StateCounts> = z.partialRecord(stateField, countField);
const worker = z.object({
  type: z.string(),
  instanceId: z.string(),
  live: z.boolean(),
  lastSeenAt: instantAnswer,
  concurrency: countField.exactOptional(),
  version: z.string().exactOptional(),
}).meta({ id: "WorkerInfo" });
const service: z.ZodType<ServiceInfo> = z.object({
  name: z.string(),
  types: z.array(z.string()),
  counts: stateCounts,
  liveWorkers: countField,
  workers: z.array(worker),
}).meta({ id: "ServiceInfo" });
const queue: z.ZodType<QueueInfo> = z.object({
  service: z.string(),
  type: z.string(),
  declared: queueDeclarationSchema.exactOptional(),
  work: z.object({
    waiting: countField,
    outstanding: countField,
    redelivered: countField,
    paused: z.boolean(),
    pausedUntil: instantAnswer.exactOptional(),
  }).exactOptional(),
  counts: stateCounts,
  liveWorkers: countField,
  oldestPendingAt: instantAnswer.exactOptional(),
}).meta({ id: "QueueInfo" });

/** The schema of {@linkcode PageRequest}. */
export const pageRequest: z.ZodType<PageRequest> = z.strictObject(pageFields);
/** The schema of a page of services. */
export const servicesResponse: z.ZodType<PageResponse<ServiceInfo>> = z.object(pageAnswer(service));
/** The schema of a page of queues. */
export const queuesResponse: z.ZodType<PageResponse<QueueInfo>> = z.object(pageAnswer(queue));
const queueFields = { service: nameField("service"), type: nameField("job type") };
/** The schema of {@linkcode QueueRequest}. */
export const queueRequest: z.ZodType<QueueRequest> = z.strictObject(queueFields);
/** The schema of {@linkcode PauseQueueRequest}. */
export const pauseQueueRequest: z.ZodType<PauseQueueRequest> = z.strictObject({
  ...queueFields,
  until: instantField.exactOptional(),
});
/** The schema of {@linkcode PauseResponse}. */
export const pauseResponse: z.ZodType<PauseResponse> = z.object({
  service: z.string(),
  type: z.string(),
  paused: z.boolean(),
  pausedUntil: instantAnswer.exactOptional(),
});
