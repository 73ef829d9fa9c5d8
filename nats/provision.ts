/**
 * Brings a server to the topology: idempotent, safe to run from many processes at once.
 *
 * @module
 */

import {
  type AsyncResult,
  asyncResult,
  err,
  JOBS_STREAM,
  JobsError,
  ok,
  type Result,
  type ServerCapabilities,
  serverCapabilities,
  topology,
  type TopologyOptions,
  WORK_STREAM,
} from "../protocol/mod.ts";
import { countCurrentPeers } from "./_replicas.ts";
import {
  type EnsureOptions,
  ensureStream,
  findStream,
  ForeignStreamError,
  isTooManyReplicas,
  readStream,
  updatableFields,
} from "./_streams.ts";
import type { StreamReport } from "./_streams.ts";
import type { Connection } from "./connection.ts";
import {
  API_ERROR,
  apiErrorCode,
  errorMessage,
  isDenied,
  isNoResponders,
  isRetryable,
} from "./errors.ts";

/** How to provision; everything may be left out. */
export interface ProvisionOptions {
  /** How many servers keep each stream; asked from the server when left out. */
  readonly replicas?: number;
  /** A connection of the system account, to count the peers with; the server is tried when left out. */
  readonly system?: Connection;
  /** How long job history stays on the stream; for ever when left out. */
  readonly maxAgeMs?: number;
  /** How large the job history may grow; no limit when left out. */
  readonly maxBytes?: number;
  /** Whether streams that are there may be changed, or only missing ones made; true. */
  readonly update?: boolean;
  /** How long all of it may take; 30 s, or 5 s when the server does not speak of JetStream. */
  readonly timeoutMs?: number;
}

/** How many replicas there are, and who decided that. */
export interface ReplicaDecision {
  /** Servers that keep each stream. */
  readonly count: number;
  /** `option`: the caller; `system-account`: peers were counted; `server`: it was tried; `existing`: `JOBS` had it. */
  readonly decidedBy: "option" | "system-account" | "server" | "existing";
}

/** What provisioning found and did. */
export interface ProvisionReport {
  /** What the server can do. */
  readonly capabilities: ServerCapabilities;
  /** How many replicas, and why. */
  readonly replicas: ReplicaDecision;
  /** Each stream and bucket. */
  readonly streams: readonly StreamReport[];
}

/** Why provisioning can fail. */
export type ProvisionFailure =
  | "unsupported-server"
  | "jetstream-disabled"
  | "denied"
  | "disconnected"
  | "drift"
  | "refused"
  | "timeout";

/**
 * Creates the streams and buckets that are missing, updates what may be updated, reports the drift
 * that it will not change, and returns when `JOBS_WORK` is attached to `JOBS`: from then on no
 * created job is missed.
 *
 * @example
 * ```ts ignore
 * const report = await provision(connection).orThrow();
 * for (const stream of report.streams) console.log(stream.name, stream.action);
 * ```
 */
export function provision(
  nc: Connection,
  options: ProvisionOptions = {},
): AsyncResult<ProvisionReport, JobsError<ProvisionFailure>> {
  checkOptions(options);
  return asyncResult(provisionOnce(nc, options));
}

/** Wrong numbers are bugs, and some of them would silently mean "no limit" to the server. */
function checkOptions({ replicas, maxAgeMs, maxBytes, timeoutMs }: ProvisionOptions): void {
  const whole = (field: string, value: number | undefined, least: number, most: number) => {
    if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return;
    throw new RangeError(
      `Cannot provision: ${field} is ${value}, not a whole number from ${least} to ${most}`,
    );
  };
  whole("replicas", replicas, 1, 5);
  whole("maxAgeMs", maxAgeMs, 1_000, 9_000_000_000);
  whole("maxBytes", maxBytes, 1, Number.MAX_SAFE_INTEGER);
  whole("timeoutMs", timeoutMs, 1, 2 ** 31 - 1);
}

async function provisionOnce(
  nc: Connection,
  options: ProvisionOptions,
): Promise<Result<ProvisionReport, JobsError<ProvisionFailure>>> {
  if (nc.isClosed()) {
    return err(new JobsError("disconnected", "Cannot provision: the connection is closed"));
  }
  const capabilities = serverCapabilities(nc.info?.version ?? "");
  if (!capabilities.ok) return capabilities;
  // A server that does not speak of JetStream has none, or is a member of a cluster in which others
  // have; the latter answers soon.
  const patienceMs = nc.info?.jetstream === true ? 30_000 : 5_000;
  const ensure: EnsureOptions = {
    giveUpAt: Date.now() + (options.timeoutMs ?? patienceMs),
    updatable: options.update === false
      ? new Set()
      : updatableFields({ replicas: options.replicas !== undefined }),
  };
  try {
    const streams: StreamReport[] = [];
    const replicas = await makeFirst(nc, capabilities.value, options, ensure, streams);
    for (const wanted of wantedStreams(capabilities.value, replicas.count, options).slice(1)) {
      streams.push(await ensureStream(nc, wanted, ensure));
    }
    const broken = sourceDrift(streams);
    if (broken !== undefined) return err(broken);
    await untilSourceAttached(nc, ensure);
    return ok({ capabilities: capabilities.value, replicas, streams });
  } catch (error) {
    return err(failure(nc, error));
  }
}

/** Makes `JOBS` and learns from it how many replicas the others get. */
async function makeFirst(
  nc: Connection,
  capabilities: ServerCapabilities,
  options: ProvisionOptions,
  ensure: EnsureOptions,
  streams: StreamReport[],
): Promise<ReplicaDecision> {
  const candidates = await replicaCandidates(nc, options, ensure);
  for (const [index, decision] of candidates.entries()) {
    const [jobs] = wantedStreams(capabilities, decision.count, options);
    if (jobs === undefined) break;
    try {
      const report = await ensureStream(nc, jobs, ensure);
      streams.push(report);
      return decision.decidedBy === "option" ? decision : decidedBefore(report) ?? decision;
    } catch (error) {
      if (index === candidates.length - 1 || !isTooManyReplicas(error)) throw error;
    }
  }
  throw new Error("Cannot provision: the topology has no streams");
}

/** Another process made `JOBS` since we looked, and decided otherwise: its word counts. */
function decidedBefore({ drift }: StreamReport): ReplicaDecision | undefined {
  const found = drift.find(({ field }) => field === "num_replicas")?.found;
  return typeof found === "number" ? { count: found, decidedBy: "existing" } : undefined;
}

async function replicaCandidates(
  nc: Connection,
  { replicas, system }: ProvisionOptions,
  ensure: EnsureOptions,
): Promise<readonly ReplicaDecision[]> {
  if (replicas !== undefined) return [{ count: replicas, decidedBy: "option" }];
  if (system !== undefined) {
    const count = await countCurrentPeers(system) >= 3 ? 3 : 1;
    return [{ count, decidedBy: "system-account" }];
  }
  const existing = (await findStream(nc, JOBS_STREAM, ensure))?.config["num_replicas"];
  if (typeof existing === "number") return [{ count: existing, decidedBy: "existing" }];
  return [{ count: 3, decidedBy: "server" }, { count: 1, decidedBy: "server" }];
}

function wantedStreams(
  capabilities: ServerCapabilities,
  replicas: number,
  { maxAgeMs, maxBytes }: ProvisionOptions,
): ReturnType<typeof topology> {
  const options: TopologyOptions = {
    capabilities,
    replicas,
    ...(maxAgeMs !== undefined && { maxAgeMs }),
    ...(maxBytes !== undefined && { maxBytes }),
  };
  return topology(options);
}

/**
 * Without its source the work stream stays empty for ever. It is not repaired here: a source that
 * is put back may bring all work of the past over again.
 */
function sourceDrift(streams: readonly StreamReport[]): JobsError<"drift"> | undefined {
  const work = streams.find(({ name }) => name === WORK_STREAM);
  const drift = work?.drift.find(({ field }) => field === "sources");
  if (drift === undefined) return undefined;
  const found = JSON.stringify(drift.found ?? []);
  return new JobsError(
    "drift",
    `Cannot provision: ${WORK_STREAM} is not filled from JOBS, its sources are ${found} instead of ` +
      `${JSON.stringify(drift.wanted)}; drain it, delete it and provision again`,
  );
}

/** Lag says 0 before a source is attached; only `active` tells. */
async function untilSourceAttached(nc: Connection, ensure: EnsureOptions): Promise<void> {
  for (;;) {
    const { sources } = await readStream(nc, WORK_STREAM, ensure);
    if (sources.length > 0 && sources.every((source) => source.active >= 0)) return;
    if (Date.now() >= ensure.giveUpAt) {
      throw new JobsError(
        "timeout",
        `Cannot provision: ${WORK_STREAM} is not attached to its source`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function failure(nc: Connection, error: unknown): JobsError<ProvisionFailure> {
  if (error instanceof JobsError) return error;
  const options = { cause: error };
  const said = errorMessage(error);
  if (error instanceof ForeignStreamError) {
    return new JobsError("drift", `Cannot provision: ${said}`, options);
  }
  if (nc.isClosed()) {
    return new JobsError(
      "disconnected",
      `Cannot provision: the connection was lost, ${said}`,
      options,
    );
  }
  if (nc.info?.jetstream !== true && isNoResponders(error)) {
    const message = "Cannot provision: JetStream is off on this server, nobody answers its API";
    return new JobsError("jetstream-disabled", message, options);
  }
  const code = apiErrorCode(error);
  if (isDenied(error)) {
    return new JobsError(
      "denied",
      `Cannot provision: the credentials do not allow it, ${said}`,
      options,
    );
  }
  if (code === API_ERROR.notEnabled || code === API_ERROR.notEnabledForAccount) {
    return new JobsError(
      "jetstream-disabled",
      `Cannot provision: JetStream is off, ${said}`,
      options,
    );
  }
  if (isRetryable(error)) {
    const hint = "is JetStream on, and does the cluster have a leader?";
    return new JobsError("timeout", `Cannot provision: no answer from JetStream, ${hint}`, options);
  }
  return new JobsError("refused", `Cannot provision: the server refuses, ${said}`, options);
}
