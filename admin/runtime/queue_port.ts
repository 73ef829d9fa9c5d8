/**
 * Queues as services declared them and as the server has them.
 *
 * @module
 */

import {
  type Connection,
  type ConsumerStanding,
  errorMessage,
  openReading,
  pauseConsumer,
  readConsumer,
  wholeMessage,
} from "../../nats/mod.ts";
import {
  bucketStream,
  bucketSubject,
  decodeQueueRecord,
  durableName,
  err,
  META_BUCKET,
  ok,
  type QueueAddress,
  type QueueDeclaration,
  queueRegistryKey,
  type ServerCapabilities,
} from "../../protocol/mod.ts";
import { AdminError } from "../errors.ts";
import type { QueueWork } from "../messages/queues.ts";
import type { QueuePort } from "../ports.ts";

/** What the port works with. */
export interface QueuePortOptions {
  /** The connection. */
  readonly connection: Connection;
  /** What the server can do. */
  readonly capabilities: () => ServerCapabilities;
  /** Prefix of reply subjects; `_INBOX` when left out. */
  readonly inboxPrefix?: string;
}

/** Declarations change when services start; lists are asked for more often. */
const REMEMBERED_MS = 5_000;
const ANSWER_MS = 5_000;
const BATCH = 500;

/** Opens the port. */
export function createQueuePort(options: QueuePortOptions): QueuePort {
  const { connection, capabilities } = options;
  let remembered: { readonly until: number; readonly queues: readonly QueueDeclaration[] } = {
    until: 0,
    queues: [],
  };
  const work = async (queue: QueueAddress): Promise<QueueWork | undefined> => {
    const standing = await readConsumer(connection, durableName(queue), patience());
    return standing === undefined ? undefined : describeWork(standing);
  };
  return {
    work,
    async declared() {
      if (Date.now() >= remembered.until) {
        remembered = { until: Date.now() + REMEMBERED_MS, queues: await readDeclared(options) };
      }
      return remembered.queues;
    },
    async pause(queue, until) {
      const verb = until === undefined ? "resume" : "pause";
      const cannot = `Cannot ${verb} queue ${queue.jobType} of ${queue.service}`;
      const { consumerPause, version } = capabilities();
      if (!consumerPause) {
        const message = `${cannot}: nats-server ${version} cannot, 2.11 or newer is needed`;
        return err(new AdminError("unsupported", message));
      }
      try {
        if (await work(queue) === undefined) {
          const message = `${cannot}: no worker has ever begun on it`;
          return err(new AdminError("not_found", message));
        }
        await pauseConsumer(connection, durableName(queue), until, patience());
        const after = await work(queue);
        if (after !== undefined) return ok(after);
        return err(new AdminError("not_found", `${cannot}: it is gone`));
      } catch (error) {
        return err(new AdminError("unavailable", `${cannot}: ${errorMessage(error)}`));
      }
    },
  };
}

function describeWork(standing: ConsumerStanding): QueueWork {
  const { pending, ackPending, redelivered, pausedUntil } = standing;
  return {
    waiting: pending,
    outstanding: ackPending,
    redelivered,
    paused: pausedUntil !== undefined,
    ...(pausedUntil !== undefined && { pausedUntil }),
  };
}

/** All records of the registry; one that cannot be read is a service of another version. */
async function readDeclared(
  { connection, inboxPrefix }: QueuePortOptions,
): Promise<QueueDeclaration[]> {
  using reading = await openReading(connection, {
    read: wholeMessage,
    stream: bucketStream(META_BUCKET),
    filter: bucketSubject(META_BUCKET, queueRegistryKey("*")),
    from: "last-per-subject",
    ...(inboxPrefix !== undefined && { inboxPrefix }),
  });
  const declared: QueueDeclaration[] = [];
  for (let left = reading.pendingAtStart; left > 0;) {
    const messages = await reading.take(Math.min(left, BATCH));
    left -= messages.length;
    for (const { data } of messages) {
      const record = decodeQueueRecord(data.length === 0 ? undefined : data);
      if (record.ok) declared.push(...record.value);
    }
  }
  return declared;
}

function patience(): { giveUpAt: number } {
  return { giveUpAt: Date.now() + ANSWER_MS };
}
