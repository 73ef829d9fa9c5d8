/**
 * The words that all parts share: names, subjects, events, states, the transition table, the
 * reducer, queue definitions, the topology. Pure: nothing here reads, writes or waits.
 *
 * @example A job is the fold of its events
 * ```ts
 * import { decodeEvent, fold, type JobEvent } from "./mod.ts";
 * import assert from "node:assert/strict";
 *
 * const stored: { subject: string; data: Uint8Array }[] = [];
 * const events: JobEvent[] = [];
 * for (const { subject, data } of stored) {
 *   const decoded = decodeEvent(subject, data);
 *   if (decoded.ok) events.push(decoded.value);
 * }
 * assert.equal(fold(events), undefined);
 * ```
 *
 * @module
 */

export {
  type AsyncResult,
  asyncResult,
  type Err,
  err,
  type Ok,
  ok,
  type Result,
  valueOrThrow,
} from "./result.ts";
export {
  describeIssue,
  type SchemaInput,
  type SchemaIssue,
  type SchemaOutput,
  type SchemaResult,
  type StandardSchema,
} from "./standard_schema.ts";
export { JobsError } from "./errors.ts";
export {
  assertName,
  isHeaderText,
  isJobId,
  type NameKind,
  nameProblem,
  RESERVED_SERVICE_NAME,
} from "./names.ts";
export {
  isTerminal,
  JOB_STATES,
  type JobState,
  TERMINAL_STATES,
  type TerminalState,
} from "./states.ts";
export type {
  JobCancelledEvent,
  JobCompletedEvent,
  JobConcurrency,
  JobContext,
  JobCreatedEvent,
  JobDeadEvent,
  JobDismissedEvent,
  JobEndedEvent,
  JobEvent,
  JobEventAfter,
  JobEventBase,
  JobEventOf,
  JobEventType,
  JobExpiredEvent,
  JobFailedEvent,
  JobHeartbeatEvent,
  JobLogEntry,
  JobLoggedEvent,
  JobLogLevel,
  JobProgress,
  JobProgressedEvent,
  JobQueuePolicy,
  JobRetriedEvent,
  JobRetryEvent,
  JobSkippedEvent,
  JobStaleCompletionIgnoredEvent,
  JobStaleEvent,
  JobStartedEvent,
  RetryReason,
} from "./events.ts";
export { isJobEventType } from "./event_schemas.ts";
export {
  decodeEvent,
  decodeEventBody,
  type DecodeProblem,
  type DecodeReason,
  encodeEvent,
  encodeJson,
  type EncodeProblem,
  eventProblem,
  FOREIGN_HEADERS,
  type HeaderReader,
  MAX_MESSAGE_BYTES,
} from "./codec.ts";
export {
  JOB_EVENT_TYPES,
  type JobOrigin,
  statesBefore,
  type Transition,
  transition,
  TRANSITIONS,
} from "./transitions.ts";
export { addressOf, type Job, type JobAddress } from "./job.ts";
export type { KeyHolder, KeyView, KeyWaiter } from "./key_view.ts";
export { fold, reduce } from "./reduce.ts";
export {
  decodeHeartbeat,
  encodeHeartbeat,
  type PolicyCounters,
  type WorkerHeartbeat,
} from "./presence.ts";
export {
  ADMIN_BUCKET,
  ADVISORIES_STREAM,
  ADVISORY_FILTER,
  bucketStream,
  bucketSubject,
  durableName,
  eventFilter,
  idempotencyRecordKey,
  jobFilter,
  JOBS_STREAM,
  KEYS_BUCKET,
  keyStateKey,
  LIFECYCLE_FILTER,
  lifecycleSubject,
  META_BUCKET,
  parseKeyStateKey,
  parseLifecycleSubject,
  parsePresenceSubject,
  parseRpcSubject,
  parseWorkSubject,
  PRESENCE_FILTER,
  presenceSubject,
  type QueueAddress,
  queueEventFilter,
  queueFilter,
  queueRegistryKey,
  RPC_FILTER,
  rpcSubject,
  serviceFilter,
  servicePresenceFilter,
  serviceWorkFilter,
  WORK_EVENTS,
  WORK_FILTER,
  WORK_STREAM,
  WORK_TRANSFORM_DESTINATION,
  type WorkerAddress,
  WORKERS_STREAM,
  workSubject,
} from "./subjects.ts";
export {
  type Backoff,
  backoffMs,
  DEFAULT_BACKOFF_MS,
  type ExponentialBackoff,
  type FixedBackoff,
  MAX_BACKOFF_MS,
  withJitterMs,
} from "./backoff.ts";
export { type KeySegment, MAX_KEY_SEGMENTS, parseKeyTemplate } from "./key_template.ts";
export {
  type KeyConcurrencyOptions,
  type KeyConcurrencySettings,
  MAX_QUEUED_PER_KEY,
  type QueueDefinition,
  type QueueDepthOptions,
  type QueueDepthSettings,
  type QueueOptions,
  type QueueSettings,
  resolveQueue,
  type StalePolicy,
  type WhenFull,
} from "./queue.ts";
export { declareQueue, type QueueDeclaration } from "./queue_declaration.ts";
export {
  classifyQueueChange,
  type QueueChange,
  type QueueChangeKind,
  type QueueChangeReason,
} from "./queue_change.ts";
export { acceptsAllOf, type JsonSchema, type Keywords } from "./schema_change.ts";
export {
  MINIMUM_SERVER_VERSION,
  type ServerCapabilities,
  serverCapabilities,
} from "./capabilities.ts";
export {
  type ConsumerTopology,
  DELIVERY_BACKSTOP,
  MAX_ACK_PENDING,
  type SourceTopology,
  type StreamTopology,
  topology,
  type TopologyOptions,
  workConsumer,
} from "./topology.ts";
export { type StreamDrift, streamDrift, UPDATABLE_FIELDS } from "./drift.ts";
export { foldLatest, type JobSnapshot, type SequencedEvent } from "./fold_latest.ts";
export { decodeQueueRecord } from "./queue_declaration_schema.ts";
export {
  type Permissions,
  permissionsConfig,
  serviceInboxPrefix,
  servicePermissions,
} from "./permissions.ts";
export {
  adminPermissions,
  observerPermissions,
  provisionerPermissions,
} from "./operator_permissions.ts";
export { canonicalJson } from "./schema_change.ts";
