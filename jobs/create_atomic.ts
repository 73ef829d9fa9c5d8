/**
 * Creating many jobs all or nothing: one atomic batch.
 *
 * @module
 */

import { API_ERROR, encodeHeaderLines, readLast } from "../nats/mod.ts";
import {
  encodeEvent,
  err,
  type JobCreatedEvent,
  JOBS_STREAM,
  lifecycleSubject,
  ok,
  type Result,
} from "../protocol/mod.ts";
import { CreateError, createError } from "./create_error.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { createdHeaders } from "./write_event.ts";
import { randomHex } from "./_random.ts";

/** The most that a server takes in one batch. */
export const MOST_ATOMIC = 1_000;

const ATTEMPTS = 4;
/** More than the headers of one message of a batch ever are: context, expectation, batch. */
const HEADER_BYTES = 2_048;

/**
 * Stores all of the events or none. Each expects that its job does not exist, so a batch that is
 * repeated after silence cannot be stored twice.
 */
export async function createAtomically(
  lifecycle: Lifecycle,
  events: readonly JobCreatedEvent[],
): Promise<Result<void, CreateError>> {
  const { capabilities, publisher, connection } = lifecycle;
  if (!capabilities.atomicBatches) {
    const message =
      `Cannot create atomically: nats-server ${capabilities.version} cannot, 2.12 can`;
    return err(new CreateError("atomic-unsupported", message));
  }
  if (events.length > MOST_ATOMIC) {
    const message = `Cannot create atomically: ${events.length} jobs, at most ${MOST_ATOMIC}`;
    return err(new CreateError("too-many", message));
  }
  const bodies: Uint8Array[] = [];
  for (const event of events) {
    const encoded = encodeEvent(event);
    if (!encoded.ok) {
      return err(new CreateError("not-serializable", `Cannot create: ${encoded.error.message}`));
    }
    bodies.push(encoded.value);
    const bytes = encoded.value.length + HEADER_BYTES;
    const most = connection.info?.max_payload ?? Infinity;
    if (bytes > most) return err(createError({ kind: "too-large", bytes, most }, event.jobId));
  }
  const last = events.at(-1);
  if (last === undefined) return ok(undefined);
  let description = "";
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const batchId = randomHex(12);
    const sent = events.map((event, index) => {
      const headers = encodeHeaderLines(
        `${createdHeaders(capabilities, event)}Nats-Batch-Id: ${batchId}\r\n` +
          `Nats-Batch-Sequence: ${index + 1}\r\n` +
          (event === last ? "Nats-Batch-Commit: 1\r\n" : ""),
      );
      const subject = lifecycleSubject(event, "created");
      const data = bodies[index] ?? new Uint8Array();
      // Only the commit is answered.
      if (event === last) return publisher.publish(subject, data, headers);
      connection.publish(subject, data, { headers });
      return undefined;
    });
    const answer = await sent.at(-1);
    if (answer === undefined || answer.kind === "stored") return ok(undefined);
    if (answer.kind === "refused" && answer.code !== API_ERROR.wrongLastSequence) {
      return err(createError(answer, last.jobId));
    }
    description = answer.description;
    if (await exists(lifecycle, last)) return ok(undefined);
  }
  const message = `Cannot tell whether ${events.length} jobs were created: ${description}`;
  return err(new CreateError("unconfirmed", message, last.jobId));
}

/** All or nothing: when the last is there, all are. */
async function exists({ connection }: Lifecycle, event: JobCreatedEvent): Promise<boolean> {
  const giveUpAt = Date.now() + 15_000;
  const subject = lifecycleSubject(event, "created");
  const stored = await readLast(connection, JOBS_STREAM, subject, { giveUpAt }).catch(() =>
    undefined
  );
  return stored !== undefined;
}
