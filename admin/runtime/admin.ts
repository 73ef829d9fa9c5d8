/**
 * The admin as a whole: it keeps the rows, stands for the owner's seat, and answers.
 *
 * @module
 */

import { type Lifecycle, openLifecycle } from "../../jobs/mod.ts";
import { type Candidate, standForSeat } from "../../keys/mod.ts";
import { type Connection, onReconnect } from "../../nats/mod.ts";
import {
  type ProjectionStore,
  purgeJob,
  readHistory,
  resolveRetention,
  type RetentionPolicy,
} from "../../projection/mod.ts";
import {
  ADMIN_BUCKET,
  type ServerCapabilities,
  serverCapabilities,
  valueOrThrow,
} from "../../protocol/mod.ts";
import type { Authenticate } from "../authenticate.ts";
import { createHttpApp, type HttpApp } from "../http/app.ts";
import type { HealthResponse, LoopReport } from "../messages/health.ts";
import { startNatsHost } from "../nats_host.ts";
import type { AdminPorts } from "../ports.ts";
import { createJobCommands } from "./commands.ts";
import { judgeHealth } from "./health.ts";
import { createKeyPort } from "./key_port.ts";
import type { AdminLoop } from "./loop.ts";
import { type OwnerPace, startOwnerLoops } from "./owner_work.ts";
import { createProjecting, type Projecting } from "./projecting.ts";
import { createQueuePort } from "./queue_port.ts";
import { watchStream } from "./watch_port.ts";

/** How an admin runs. */
export interface AdminOptions {
  /** The connection; it stays the caller's to close. */
  readonly connection: Connection;
  /** The rows; they stay the caller's to close. */
  readonly store: ProjectionStore;
  /** This process; a fresh name when left out. */
  readonly instanceId?: string;
  /** `owner` stands for the seat (the default), `rpc-only` answers and does nothing else. */
  readonly role?: "owner" | "rpc-only";
  /** Whether several processes share the rows: then only the owner keeps them up to date. */
  readonly sharedStore?: boolean;
  /** Tells who asks; without it, everybody who reaches the admin may do everything. */
  readonly authenticate?: Authenticate;
  /** How long finished jobs are kept. */
  readonly retention?: Partial<RetentionPolicy>;
  /** How long the owner's lease lasts without renewal; 10 s. */
  readonly leaseMs?: number;
  /** How often the owner looks. */
  readonly pace?: OwnerPace;
  /** How long a mutation waits until the rows have it; 5 s. */
  readonly projectedWithinMs?: number;
  /** Whether requests over NATS are answered; they are unless this is `false`. */
  readonly rpc?: boolean;
  /** Prefix of reply subjects; `_INBOX` when left out. */
  readonly inboxPrefix?: string;
  /** The largest request that is read, in bytes. */
  readonly maxBodyBytes?: number;
  /** The present instant; the machine's clock when left out. */
  readonly clock?: () => number;
  /** Told what happens, in words. */
  readonly onNote?: (note: string) => void;
}

/** An admin under way. */
export interface Admin extends AsyncDisposable {
  /** Answers HTTP requests, wherever they come from. */
  readonly app: HttpApp;
  /** What the procedures work with. */
  readonly ports: AdminPorts;
  /** Tells how it is doing. */
  health(): Promise<HealthResponse>;
  /** Ends it, and resolves when it has: the seat is left, and what is under way is done. */
  stop(): Promise<void>;
}

/** The seat's entry in its bucket. */
export const OWNER_SEAT = "owner";
const LEASE_MS = 10_000;
const PROJECTED_WITHIN_MS = 5_000;

/** Starts an admin. It needs no answer from the server to start: it tries until there is one. */
export function startAdmin(options: AdminOptions): Admin {
  const { connection, store, role = "owner", clock = Date.now, onNote = () => {} } = options;
  const instanceId = options.instanceId ?? `admin-${crypto.randomUUID().slice(0, 8)}`;
  const prefix = options.inboxPrefix === undefined ? {} : { inboxPrefix: options.inboxPrefix };
  const capabilities = readCapabilities(connection);
  const lifecycle = openLifecycle({ connection, capabilities, ...prefix });
  const projecting = createProjecting({ connection, store, ...prefix, onNote });
  const leavesRowsToOwner = options.sharedStore === true;
  if (!leavesRowsToOwner) projecting.start();
  const startedAt = new Date(clock()).toISOString();
  const connected = watchConnection(connection);

  let ownerLoops: Readonly<Record<string, AdminLoop>> = {};
  const ownerOptions = {
    ...prefix,
    ...{ connection, store, lifecycle, instanceId, clock, onNote },
    projector: projecting.projector,
    retention: resolveRetention(options.retention),
    pace: options.pace ?? {},
  };
  const own = async ({ term, signal }: { term: number; signal: AbortSignal }): Promise<void> => {
    onNote(`${instanceId} is the owner, term ${term}`);
    if (leavesRowsToOwner) projecting.start();
    const loops = startOwnerLoops(ownerOptions, term);
    ownerLoops = loops;
    await aborted(signal);
    ownerLoops = {};
    await Promise.all(Object.values(loops).map((loop) => loop.stop()));
    if (leavesRowsToOwner) await projecting.stop();
    onNote(`${instanceId} is no longer the owner, term ${term} is over`);
  };
  const leaseMs = options.leaseMs ?? LEASE_MS;
  const candidate: Candidate | undefined = role === "rpc-only" ? undefined : standForSeat({
    ...{ connection, publisher: lifecycle.publisher, bucket: ADMIN_BUCKET },
    ...{ entryKey: OWNER_SEAT, holder: instanceId, ttlMs: leaseMs, intervalMs: leaseMs / 3 },
    work: own,
    onTrouble: (why) => onNote(`the owner's seat: ${why}`),
  });

  const health = async (): Promise<HealthResponse> => {
    const version = connection.info?.version;
    const isOwner = candidate?.term() !== undefined;
    return judgeHealth({
      instanceId,
      role: isOwner ? "owner" : role === "owner" ? "standby" : "rpc-only",
      startedAt,
      server: { connected: connected.is(), ...(version !== undefined && { version }) },
      projection: await projecting.report(),
      loops: reportLoops(ownerLoops, projecting),
    });
  };
  const ports = createPorts(options, { lifecycle, capabilities, projecting, health, clock });
  const onFault = (what: string, fault: unknown) =>
    onNote(`${what} failed: ${fault instanceof Error ? fault.stack ?? fault.message : fault}`);
  const shared = {
    ports,
    onFault,
    ...(options.authenticate !== undefined && { authenticate: options.authenticate }),
    ...(options.maxBodyBytes !== undefined && { maxBodyBytes: options.maxBodyBytes }),
  };
  const host = options.rpc === false ? undefined : startNatsHost({ connection, ...shared });
  const stop = async (): Promise<void> => {
    await Promise.all([host?.stop(), candidate?.stop()]);
    await projecting.stop();
    connected.stop();
    lifecycle[Symbol.dispose]();
  };
  return { app: createHttpApp(shared), ports, health, stop, [Symbol.asyncDispose]: stop };
}

interface PortParts {
  readonly lifecycle: Lifecycle;
  readonly capabilities: ServerCapabilities;
  readonly projecting: Pick<Projecting, "waitFor">;
  readonly health: () => Promise<HealthResponse>;
  readonly clock: () => number;
}

function createPorts(
  { connection, store, projectedWithinMs = PROJECTED_WITHIN_MS, inboxPrefix }: AdminOptions,
  { lifecycle, capabilities, projecting, health, clock }: PortParts,
): AdminPorts {
  const prefix = inboxPrefix === undefined ? {} : { inboxPrefix };
  return {
    store,
    clock,
    health,
    jobs: createJobCommands(lifecycle),
    keys: createKeyPort(lifecycle),
    queues: createQueuePort({ connection, capabilities: () => capabilities, ...prefix }),
    projected: (sequence) => projecting.waitFor(sequence, projectedWithinMs),
    history: (row, history) => readHistory(connection, row, history),
    purge: (row) => purgeJob(connection, store, row),
    watch: (watch) => watchStream(connection, watch, inboxPrefix),
  };
}

function readCapabilities({ info }: Connection): ServerCapabilities {
  return valueOrThrow(serverCapabilities(info?.version ?? ""));
}

function reportLoops(
  loops: Readonly<Record<string, AdminLoop>>,
  projecting: Projecting,
): Record<string, LoopReport> {
  const presence = projecting.presence();
  return {
    ...(presence !== undefined && { presence }),
    ...Object.fromEntries(Object.entries(loops).map(([name, loop]) => [name, loop.report()])),
  };
}

function watchConnection(connection: Connection): { is(): boolean; stop(): void } {
  let connected = true;
  const stop = onReconnect(connection, (status) => {
    connected = status === "reconnect";
  });
  return { is: () => connected && !connection.isClosed(), stop };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
