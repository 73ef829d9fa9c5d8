/**
 * Messages of the stream, read as a batch of events: what is no event is counted, never feared.
 *
 * @module
 */

import type { StreamMessage } from "../nats/mod.ts";
import { decodeEvent, type DecodeProblem, type JobEvent, type Result } from "../protocol/mod.ts";
import type { StoredEvent } from "./fold_batch.ts";
import type { EventBatch } from "./project_batch.ts";
import type { ProjectionPosition } from "./store.ts";

/** A message of the stream, read: what it says, or why it says nothing. */
export interface ReadMessage {
  /** Its place. */
  readonly sequence: number;
  /** When the stream took it: nanoseconds since 1970, as a decimal text. */
  readonly storedNs: string;
  /** How many more there were after it. */
  readonly pending: number;
  /** The event. */
  readonly decoded: Result<JobEvent, DecodeProblem>;
}

/** Reads a message when it comes. */
export function readMessage(message: StreamMessage): ReadMessage {
  const { sequence, storedNs, pending, subject, data, headers } = message;
  return { sequence, storedNs, pending, decoded: decodeEvent(subject, data, headers) };
}

/** Makes a batch of messages that come after a position; there must be at least one. */
export function readBatch(
  { stream, sequence, storedAt, rebuildTo, holesAt }: ProjectionPosition,
  messages: readonly ReadMessage[],
): EventBatch {
  const events: StoredEvent[] = [];
  const skipped: Record<string, number> = {};
  let [place, holes] = [sequence, holesAt];
  let storedMs = storedAt === undefined ? 0 : Date.parse(storedAt);
  let stored = storedAt ?? new Date(0).toISOString();
  for (const message of messages) {
    // Before the first event there is nothing that a missing one could have been about.
    if (message.sequence > place + 1 && place > 0) holes = message.sequence;
    place = message.sequence;
    // Clocks of several leaders can differ; lists rely on places and instants in the same order.
    const takenMs = Number(message.storedNs.slice(0, -6));
    if (takenMs > storedMs) stored = new Date(storedMs = takenMs).toISOString();
    const { decoded } = message;
    if (decoded.ok) events.push({ event: decoded.value, sequence: place, storedAt: stored });
    else skipped[decoded.error.reason] = (skipped[decoded.error.reason] ?? 0) + 1;
  }
  const last = messages.at(-1);
  const rebuilding = rebuildTo !== undefined && place < rebuildTo && last?.pending !== 0;
  return {
    events,
    skipped,
    position: {
      ...(stream !== undefined && { stream }),
      sequence: place,
      ...(last !== undefined && { sequenceTime: last.storedNs }),
      storedAt: stored,
      ...(rebuilding && { rebuildTo }),
      ...(holes !== undefined && { holesAt: holes }),
    },
  };
}
