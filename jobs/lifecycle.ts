/**
 * Writing and reading a job's history.
 *
 * @module
 */

import {
  type Connection,
  createPublisher,
  type Publisher,
  readLast,
  type StoredMessage,
} from "../nats/mod.ts";
import {
  decodeEvent,
  JOB_EVENT_TYPES,
  type JobAddress,
  type JobEvent,
  type JobEventType,
  jobFilter,
  JOBS_STREAM,
  type JobSnapshot,
  lifecycleSubject,
  type SequencedEvent,
  type ServerCapabilities,
  serverCapabilities,
} from "../protocol/mod.ts";
import { foldProven, newestOfEach } from "./_replica_proof.ts";
import {
  WRITE_BUDGET_MS,
  writeEvent,
  type WriteOptions,
  type WriteOutcome,
  type Writer,
} from "./write_event.ts";

/** The history of jobs, over one connection. */
export interface Lifecycle extends Disposable {
  /** The connection. */
  readonly connection: Connection;
  /** What the server can do. */
  readonly capabilities: ServerCapabilities;
  /** Where publishes go. */
  readonly publisher: Publisher;
  /** Stores an event, through reconnects, elections and restarts. */
  write(event: JobEvent, options?: WriteOptions): Promise<WriteOutcome>;
  /** Reads a job: the newest event of each kind, folded. Throws when the server does not answer. */
  read(job: JobAddress, budgetMs?: number): Promise<JobSnapshot | undefined>;
  /** Reads the place of a job's newest event; 0 when there is none. */
  readLastSequence(job: JobAddress, budgetMs?: number): Promise<number>;
  /** Reads the place of the newest event of one kind; 0 when there is none. */
  readOwnSequence(job: JobAddress, eventType: JobEventType): Promise<number>;
}

/** Longer than replicas were seen to lag behind a write (10 ms). */
const REPLICA_LAG_MS = 25;
/** How often each kind is asked for when nothing proves that all was seen. */
const MOST_LOOKS = 4;

/** What the history needs to know. */
export interface LifecycleOptions {
  /** The connection. */
  readonly connection: Connection;
  /** What the server can do. */
  readonly capabilities: ServerCapabilities;
  /** Prefix of reply subjects. */
  readonly inboxPrefix?: string;
}

/** Opens the history of jobs. */
export function openLifecycle(options: LifecycleOptions): Lifecycle {
  const { connection, capabilities, inboxPrefix } = options;
  const publisher = createPublisher(connection, inboxPrefix === undefined ? {} : { inboxPrefix });
  let known = capabilities;
  const writer: Writer = {
    connection,
    publisher,
    get capabilities() {
      // A reconnect may lead to a server of another version.
      const version = connection.info?.version ?? known.version;
      if (version !== known.version) {
        const found = serverCapabilities(version);
        if (found.ok) known = found.value;
      }
      return known;
    },
  };
  return {
    connection,
    publisher,
    get capabilities() {
      return writer.capabilities;
    },
    write: (event, write = {}) => writeEvent(writer, event, write),
    async read(job, budgetMs = WRITE_BUDGET_MS) {
      const giveUpAt = Date.now() + budgetMs;
      const read = (subject: string) => readLast(connection, JOBS_STREAM, subject, { giveUpAt });
      // The newest event first, then each kind: what a write will expect must be no newer than what
      // it was decided on.
      const clustered = connection.info?.cluster !== undefined;
      let last = await read(jobFilter(job));
      // A replica that lags may not know of the job at all, and what is gone is given up for good.
      for (let look = 1; last === undefined && clustered && look < MOST_LOOKS; look++) {
        await pause(REPLICA_LAG_MS);
        last = await read(jobFilter(job));
      }
      if (last === undefined) return undefined;
      let known: SequencedEvent[] = [];
      for (let look = 1;; look++) {
        // In a cluster each answer comes from whichever replica, and one that lags hides events: the
        // others are given time to catch up with the newest, and asked again while in doubt.
        if (clustered) await pause(REPLICA_LAG_MS);
        const newest = await Promise.all(
          JOB_EVENT_TYPES.map((eventType) => read(lifecycleSubject(job, eventType))),
        );
        known = newestOfEach([...known, ...newest.flatMap(believed)]);
        const { snapshot, proven } = foldProven(believed(last)[0], known);
        const sure = proven && writer.capabilities.lifecycleCompareAndSet;
        if (clustered && !sure && look < MOST_LOOKS) continue;
        return snapshot === undefined ? undefined : { ...snapshot, lastSequence: last.sequence };
      }
    },
    async readLastSequence(job, budgetMs = WRITE_BUDGET_MS) {
      const giveUpAt = Date.now() + budgetMs;
      const last = await readLast(connection, JOBS_STREAM, jobFilter(job), { giveUpAt });
      return last?.sequence ?? 0;
    },
    async readOwnSequence(job, eventType) {
      const giveUpAt = Date.now() + WRITE_BUDGET_MS;
      const subject = lifecycleSubject(job, eventType);
      return (await readLast(connection, JOBS_STREAM, subject, { giveUpAt }))?.sequence ?? 0;
    },
    [Symbol.dispose]: () => publisher[Symbol.dispose](),
  };
}

/** A stored message that is an event of ours; anything else is passed over. */
export function believed(message: StoredMessage | undefined): SequencedEvent[] {
  if (message === undefined || message.forged) return [];
  const decoded = decodeEvent(message.subject, message.data);
  return decoded.ok ? [{ sequence: message.sequence, event: decoded.value }] : [];
}

function pause(waitMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, waitMs));
}
