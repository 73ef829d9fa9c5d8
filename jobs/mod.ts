/**
 * Creating, running and waiting for jobs.
 *
 * @module
 */

export type { ActiveJob, JobLease, ReportFailure } from "./active_job.ts";
export {
  type CommandOptions,
  type Commands,
  createCommands,
  type RetryOptions,
} from "./commands.ts";
export type { CreateOptions } from "./create.ts";
export { CreateError, type CreateFailure } from "./create_error.ts";
export {
  defineJobs,
  type PayloadInput,
  type PayloadOutput,
  type QueueMap,
  type ResultInput,
  type ResultOutput,
  type ServiceDefinition,
} from "./define.ts";
export type { AddedBy, HandlerInput, HandlerReturn, JobHandler, Middleware } from "./handler.ts";
export { type AbortReason, JobAborted, JobFailed, RetryAfter, Snooze } from "./handler_signals.ts";
export type {
  FinishedJob,
  JobRef,
  JobView,
  ReadFailure,
  WaitFailure,
  WaitOptions,
} from "./job_ref.ts";
export {
  type Expectation,
  type Lifecycle,
  type LifecycleOptions,
  openLifecycle,
  type WriteOptions,
  type WriteOutcome,
} from "./lifecycle.ts";
export { CommandError, type CommandFailure } from "./guarded_write.ts";
export { type JobsLog, type LogLevel } from "./log.ts";
export type { CreateManyOptions, JobQueue, QueueRef, SubmitOutcome } from "./queue.ts";
export {
  type ConnectFailure,
  type ConnectService,
  connectServiceWith,
  type Service,
  type ServiceOptions,
  type ServiceRooms,
} from "./service.ts";
export type { KeyFailure } from "./keyed_queue.ts";
export type {
  FullKey,
  HeldSlot,
  JobKey,
  KeyAdmission,
  KeyedFate,
  KeyedHistory,
  KeyLine,
  KeyTrouble,
  OpenQueueKeys,
  QueueKeys,
  SlotRequest,
  SupersededSlot,
  Turn,
  TurnOptions,
} from "./key_port.ts";
export { MigrationError, type QueueReason, type RegistryFailure } from "./queue_registry.ts";
