/**
 * Queues, services and workers: what was declared and what is observed, put together.
 *
 * @module
 */

import { isLive } from "../../projection/presence_row.ts";
import type { QueueCount, WorkerPresence } from "../../projection/mod.ts";
import {
  err,
  ok,
  type QueueAddress,
  type QueueDeclaration,
  type Result,
} from "../../protocol/mod.ts";
import { AdminError } from "../errors.ts";
import { pageOf, type PageRequest, type PageResponse } from "../messages/fields.ts";
import type {
  PauseQueueRequest,
  PauseResponse,
  QueueInfo,
  QueueRequest,
  ServiceInfo,
  StateCounts,
  WorkerInfo,
} from "../messages/queues.ts";
import type { AdminPorts } from "../ports.ts";
import type { CallContext } from "../procedure.ts";

const TEN_YEARS_MS = 10 * 365 * 86_400_000;

/** Lists services by name. */
export async function listServices(
  page: PageRequest,
  { ports }: CallContext,
): Promise<Result<PageResponse<ServiceInfo>, AdminError>> {
  const observed = await observe(ports);
  const names = [...new Set(observed.queues.map(({ service }) => service))].sort();
  const services = pageOf(names, page);
  const now = ports.clock();
  return ok({
    ...services,
    entries: services.entries.map((name) => describeService(name, observed, now)),
  });
}

/** Lists queues by service and name. */
export async function listQueues(
  page: PageRequest,
  { ports }: CallContext,
): Promise<Result<PageResponse<QueueInfo>, AdminError>> {
  const observed = await observe(ports);
  const queues = pageOf(observed.queues, page);
  const oldest = await ports.store.oldestPending();
  const entries = await Promise.all(queues.entries.map(async (queue): Promise<QueueInfo> => {
    const work = await ports.queues.work(queue);
    const declared = observed.declared.find((other) => isSame(queue, other));
    const waits = oldest.find(({ service, type }) => isQueue(queue, service, type));
    return {
      service: queue.service,
      type: queue.jobType,
      counts: countsOf(
        observed.counts.filter(({ service, type }) => isQueue(queue, service, type)),
      ),
      liveWorkers: observed.workers.filter((worker) =>
        isSame(queue, worker.heartbeat) && isLive(worker, ports.clock())
      ).length,
      ...(declared !== undefined && { declared }),
      ...(work !== undefined && { work }),
      ...(waits !== undefined && { oldestPendingAt: waits.pendingSince }),
    };
  }));
  return ok({ ...queues, entries });
}

/** Lets the server hand out nothing of a queue; jobs are still created, and running ones end. */
export async function pauseQueue(
  { service, type, until }: PauseQueueRequest,
  { ports }: CallContext,
): Promise<Result<PauseResponse, AdminError>> {
  const end = until === undefined ? ports.clock() + TEN_YEARS_MS : Date.parse(until);
  if (end <= ports.clock()) {
    const message = `Cannot pause queue ${type} of ${service}: ${until} has passed`;
    return err(new AdminError("validation", message, { field: "until" }));
  }
  return await setPause({ service, jobType: type }, new Date(end).toISOString(), ports);
}

/** Lets the server hand out a queue's work again. */
export async function resumeQueue(
  { service, type }: QueueRequest,
  { ports }: CallContext,
): Promise<Result<PauseResponse, AdminError>> {
  return await setPause({ service, jobType: type }, undefined, ports);
}

/** Adds counts up by state. */
export function countsOf(counts: readonly QueueCount[]): StateCounts {
  const sums: Partial<Record<QueueCount["state"], number>> = {};
  for (const { state, count } of counts) sums[state] = (sums[state] ?? 0) + count;
  return sums;
}

async function setPause(
  queue: QueueAddress,
  until: string | undefined,
  ports: AdminPorts,
): Promise<Result<PauseResponse, AdminError>> {
  const paused = await ports.queues.pause(queue, until);
  if (!paused.ok) return paused;
  const { value } = paused;
  return ok({
    service: queue.service,
    type: queue.jobType,
    paused: value.paused,
    ...(value.pausedUntil !== undefined && { pausedUntil: value.pausedUntil }),
  });
}

interface Observed {
  readonly queues: readonly QueueAddress[];
  readonly counts: readonly QueueCount[];
  readonly workers: readonly WorkerPresence[];
  readonly declared: readonly QueueDeclaration[];
}

async function observe({ store, queues }: AdminPorts): Promise<Observed> {
  const [counts, workers, declared] = await Promise.all([
    store.countQueues(),
    store.listWorkers({}),
    queues.declared(),
  ]);
  const known = new Map<string, QueueAddress>();
  const add = (service: string, jobType: string) =>
    known.set(`${service}.${jobType}`, { service, jobType });
  for (const { service, type } of counts) add(service, type);
  for (const { heartbeat } of workers) add(heartbeat.service, heartbeat.jobType);
  for (const { service, jobType } of declared) add(service, jobType);
  const inOrder = [...known].sort(([a], [b]) => a < b ? -1 : 1).map(([, queue]) => queue);
  return { queues: inOrder, counts, workers, declared };
}

function describeService(name: string, observed: Observed, now: number): ServiceInfo {
  const workers = observed.workers.filter(({ heartbeat }) => heartbeat.service === name)
    .map((worker) => describeWorker(worker, now));
  return {
    name,
    types: observed.queues.filter(({ service }) => service === name).map(({ jobType }) => jobType),
    counts: countsOf(observed.counts.filter(({ service }) => service === name)),
    liveWorkers: workers.filter(({ live }) => live).length,
    workers,
  };
}

function describeWorker(worker: WorkerPresence, now: number): WorkerInfo {
  const { jobType, instanceId, concurrency, version } = worker.heartbeat;
  return {
    type: jobType,
    instanceId,
    live: isLive(worker, now),
    lastSeenAt: worker.seenAt,
    ...(concurrency !== undefined && { concurrency }),
    ...(version !== undefined && { version }),
  };
}

function isSame(a: QueueAddress, b: QueueAddress): boolean {
  return a.service === b.service && a.jobType === b.jobType;
}

function isQueue(queue: QueueAddress, service: string, type: string): boolean {
  return queue.service === service && queue.jobType === type;
}
