/**
 * What is asked of a NATS server: a connection, the streams, and what its errors mean.
 *
 * @module
 */

export { connectNats, type ConnectOptions } from "./connect.ts";
export { type ConsumerFailure, ensureConsumer, requireWorkStream } from "./consumer.ts";
export type {
  Connection,
  ConnectionStatus,
  Message,
  MessageHeaders,
  PublishOptions,
  RequestManyOptions,
  RequestOptions,
  ServerInfo,
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
export {
  type Delivery,
  keepWorking,
  parseDelivery,
  settle,
  type Settlement,
} from "./acknowledge.ts";
export { readLast, readNext, type StoredMessage } from "./direct_get.ts";
export {
  createPublisher,
  type EncodedHeaders,
  encodeHeaderLines,
  onReconnect,
  type PublishAnswer,
  type Publisher,
  type PublisherOptions,
} from "./publisher.ts";
export { type Pull, type PullOptions, startPull } from "./pull.ts";
export type { ApiRequestOptions } from "./js_api.ts";
export { type BucketEntry, deleteEntry, type EntryWrite, readEntry, writeEntry } from "./bucket.ts";
export {
  openReading,
  ReadingEnded,
  type StreamMessage,
  type StreamReading,
  type StreamReadingOptions,
  wholeMessage,
} from "./read_stream.ts";
export {
  purgeSubject,
  readLastPlace,
  readMessageTime,
  readStreamState,
  type StreamState,
} from "./stream.ts";
export {
  type ConsumerStanding,
  deleteMessage,
  ensureAdvisoryConsumer,
  type LeaderMessage,
  pauseConsumer,
  readConsumer,
  readMessage,
  readSources,
  type SourceStanding,
  stepDown,
} from "./administer.ts";
