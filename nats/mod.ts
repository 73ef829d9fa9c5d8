/**
 * What is asked of a NATS server: a connection, the streams, and what its errors mean.
 *
 * @module
 */

export { connectNats, type ConnectOptions } from "./connect.ts";
export type {
  Connection,
  Message,
  MessageHeaders,
  PublishOptions,
  RequestManyOptions,
  RequestOptions,
  SubscribeOptions,
  Subscription,
} from "./connection.ts";
export { API_ERROR, apiErrorCode, errorMessage, isDenied, isRetryable } from "./errors.ts";
export {
  provision,
  type ProvisionFailure,
  type ProvisionOptions,
  type ProvisionReport,
  type ReplicaDecision,
} from "./provision.ts";
export type { StreamReport } from "./_streams.ts";
export {
  type AsyncResult,
  JobsError,
  type Result,
  type ServerCapabilities,
  type StreamDrift,
} from "../protocol/mod.ts";
