/**
 * Exhausted deliveries: the server's advisories become `dead`, and the work message is removed.
 *
 * @module
 */

import { z } from "zod";
import type { Lifecycle } from "../../jobs/mod.ts";
import {
  type Connection,
  deleteMessage,
  ensureAdvisoryConsumer,
  errorMessage,
  type LeaderMessage,
  type Message,
  readMessage,
  settle,
  startPull,
} from "../../nats/mod.ts";
import { supervise } from "../../projection/supervise.ts";
import {
  ADVISORIES_STREAM,
  decodeEventBody,
  type JobAddress,
  JOBS_STREAM,
  WORK_STREAM,
  workSubject,
} from "../../protocol/mod.ts";
import { bury } from "./bury.ts";
import { type AdminLoop, createTally } from "./loop.ts";

/** What the loop works with. */
export interface AdvisoryOptions {
  /** The connection. */
  readonly connection: Connection;
  /** The history. */
  readonly lifecycle: Lifecycle;
  /** Prefix of reply subjects; `_INBOX` when left out. */
  readonly inboxPrefix?: string;
  /** The present instant. */
  readonly clock: () => number;
  /** Told what happens, in words. */
  readonly onNote: (note: string) => void;
}

/** The durable consumer that all replicas share. */
export const ADVISORY_CONSUMER = "admin-advisories";
const advisorySchema = z.object({
  stream: z.literal(WORK_STREAM),
  stream_seq: z.int().positive(),
  deliveries: z.int().nonnegative().default(0),
});
const ANSWER_MS = 10_000;
const AGAIN_MS = 5_000;
const AT_ONCE = 10;

/** Starts to read advisories. */
export function startAdvisories(options: AdvisoryOptions): AdminLoop {
  const { connection, inboxPrefix = "_INBOX", onNote } = options;
  const tally = createTally();
  const loop = supervise({
    onFailure: (error) => onNote(`the advisory consumer failed: ${errorMessage(error)}`),
    async run({ signal, progressed }) {
      await ensureAdvisoryConsumer(connection, ADVISORY_CONSUMER, patience());
      const underWay = new Set<Promise<void>>();
      const failed = Promise.withResolvers<void>();
      const pull = startPull(connection, {
        stream: ADVISORIES_STREAM,
        consumer: ADVISORY_CONSUMER,
        inboxPrefix,
        room: () => AT_ONCE - underWay.size,
        ahead: () => 0,
        onTrouble: () => {},
        // The next run makes it again.
        onConsumerGone: () => failed.reject(new Error("the consumer is gone")),
        onMessage(message) {
          const handling = handleOne(options, message, tally.add).finally(() => {
            underWay.delete(handling);
            pull.refill();
          });
          underWay.add(handling);
        },
      });
      progressed();
      signal.addEventListener("abort", () => failed.resolve(), { once: true });
      if (signal.aborted) failed.resolve();
      try {
        await failed.promise;
      } finally {
        await pull.stop();
        await Promise.all(underWay);
      }
    },
  });
  return { report: () => ({ ...loop.health(), done: tally.counts() }), stop: loop.stop };
}

/** Handles an advisory whatever it holds; only what cannot be done now comes again. */
async function handleOne(
  options: AdvisoryOptions,
  { data, reply = "" }: Message,
  count: (kind: string) => void,
): Promise<void> {
  const { connection, onNote } = options;
  const advisory = readAdvisory(data);
  if (advisory === undefined) {
    count("unreadable");
    return settle(connection, reply, { kind: "term" });
  }
  try {
    count(await handleAdvisory(options, advisory));
    settle(connection, reply, { kind: "ack" });
  } catch (error) {
    onNote(`an exhausted delivery is left for later: ${errorMessage(error)}`);
    settle(connection, reply, { kind: "nak", delayMs: AGAIN_MS });
  }
}

async function handleAdvisory(
  { connection, lifecycle, clock }: AdvisoryOptions,
  { stream_seq: sequence, deliveries }: z.output<typeof advisorySchema>,
): Promise<string> {
  const work = await readMessage(connection, WORK_STREAM, sequence, patience());
  if (work === undefined) return "message-gone";
  const job = readJob(work);
  const became = job === undefined
    ? "unreadable-work"
    : await bury(lifecycle, { job, deliveries, sourceSequence: readSource(work) }, clock);
  // Only now: as long as the message is there, nothing is lost by doing all this again.
  await deleteMessage(connection, WORK_STREAM, sequence, patience());
  return became;
}

function readAdvisory(data: Uint8Array): z.output<typeof advisorySchema> | undefined {
  try {
    return advisorySchema.parse(JSON.parse(new TextDecoder().decode(data)));
  } catch {
    return undefined;
  }
}

/** The job that a work message is about, if body and subject agree. */
export function readJob(
  { subject, data }: Pick<LeaderMessage, "subject" | "data">,
): JobAddress | undefined {
  const decoded = decodeEventBody(data);
  if (!decoded.ok || workSubject(decoded.value) !== subject) return undefined;
  const { service, jobType, jobId } = decoded.value;
  return { service, jobType, jobId };
}

function readSource({ headers }: LeaderMessage): number {
  return Number(
    new RegExp(`^Nats-Stream-Source: ${JOBS_STREAM} (\\d+)`, "m").exec(headers)?.[1] ?? 0,
  );
}

function patience(): { giveUpAt: number } {
  return { giveUpAt: Date.now() + ANSWER_MS };
}
