/**
 * The admin: every job visible, every action an event.
 *
 * One table of procedures, answered over HTTP and over NATS; a typed client for both; the runtime
 * that keeps the lists up to date and does what one process at a time must do. Nothing here needs a
 * file system or a socket of its own: the app is a function from a request to an answer.
 *
 * @example An operator's script
 * ```ts ignore
 * import { createAdminClient, httpTransport } from "@trellis/jobs/admin";
 *
 * const admin = createAdminClient(httpTransport({ url: "http://127.0.0.1:8080" }));
 * const dead = await admin.listDLQ({ limit: 50 }).orThrow();
 * for (const { id } of dead.entries) await admin.replayDLQ({ id }).orThrow();
 * ```
 *
 * @module
 */

export {
  type Authenticate,
  type AuthenticationOptions,
  createAuthenticator,
  hashToken,
  type JwtGrant,
  type TokenGrant,
} from "./authenticate.ts";
export { type AdminClient, createAdminClient, type Transport } from "./client/client.ts";
export { httpTransport, type HttpTransportOptions } from "./client/http_transport.ts";
export { natsTransport, type NatsTransportOptions } from "./client/nats_transport.ts";
export { watchEvents, type WatchEventsOptions } from "./client/watch_events.ts";
export {
  ADMIN_ERRORS,
  AdminError,
  type AdminErrorCode,
  type AdminErrorDetails,
  type ErrorEnvelope,
} from "./errors.ts";
export { ANONYMOUS, createHttpApp, type HttpApp, type HttpAppOptions } from "./http/app.ts";
export { isLoopbackHost } from "./http/guard.ts";
export { CAPABILITIES, type Capability, type Identity } from "./identity.ts";
export type { SchemaObject } from "./json_schema.ts";
export type {
  AgainManyRequest,
  EndManyRequest,
  ItemOutcome,
  ManyRequest,
  ManyResponse,
} from "./messages/bulk.ts";
export type { PageRequest, PageResponse } from "./messages/fields.ts";
export type {
  DurationStats,
  HealthResponse,
  LoopReport,
  ProjectionReport,
  SpanStats,
  StatsRequest,
  StatsResponse,
} from "./messages/health.ts";
export type {
  AgainRequest,
  EndRequest,
  EventsRequest,
  EventsResponse,
  GetResponse,
  JobFilterRequest,
  JobPageRequest,
  JobRequest,
  ListDLQRequest,
  ListedJob,
  ListRequest,
  ListResponse,
  MutationResponse,
  PurgeResponse,
  SequencedEventAnswer,
} from "./messages/jobs.ts";
export type {
  GetKeyRequest,
  GetKeyResponse,
  KeyHolder,
  KeyStatus,
  KeyWaiter,
  ReleaseKeyRequest,
  ReleaseKeyResponse,
} from "./messages/keys.ts";
export type {
  PauseQueueRequest,
  PauseResponse,
  QueueInfo,
  QueueRequest,
  QueueWork,
  ServiceInfo,
  StateCounts,
  WorkerInfo,
} from "./messages/queues.ts";
export { type NatsHost, type NatsHostOptions, startNatsHost } from "./nats_host.ts";
export { type OpenApiDocument, openApiDocument, type OpenApiOperation } from "./openapi.ts";
export type {
  AdminPorts,
  CommandAnswer,
  Commanded,
  JobCommands,
  KeyPort,
  KeyRelease,
  QueuePort,
  WatchOptions,
} from "./ports.ts";
export type { InputOf, OutputOf, ProcedureName, ProcedureTypes } from "./procedures.ts";
export {
  openRemoteStore,
  type RemoteStoreOptions,
  serveStore,
  type ServeStoreOptions,
} from "./remote_store.ts";
export { type Admin, type AdminOptions, startAdmin } from "./runtime/admin.ts";
export type { OwnerPace } from "./runtime/owner_work.ts";
export type { WatchRequest } from "./watch_request.ts";
