/** The steps of a projector: where to begin, and what to do with messages. */

import {
  type ApiRequestOptions,
  type Connection,
  readMessageTime,
  type StreamState,
} from "../nats/mod.ts";
import { JOBS_STREAM } from "../protocol/mod.ts";
import { judgePosition } from "./judge_position.ts";
import { projectBatch } from "./project_batch.ts";
import { readBatch, type ReadMessage } from "./read_batch.ts";
import type { CommitOutcome, ProjectionPosition, ProjectionStore } from "./store.ts";

/** How long the server is asked; an answer that was under way when a connection broke never comes. */
export function patience(): ApiRequestOptions {
  return { giveUpAt: Date.now() + 10_000, answerMs: 2_000 };
}

/** Where a run begins. */
export interface SettledPosition {
  /** The position to go on from. */
  readonly position: ProjectionPosition;
  /** Why the store was emptied, if it was. */
  readonly rebuild?: string;
}

/** Goes on where the store stands if that is a place of this stream, and empties it otherwise. */
export async function settlePosition(
  nc: Connection,
  store: ProjectionStore,
  stream: StreamState,
  askedFor: string | undefined,
): Promise<SettledPosition> {
  const found = await store.position();
  const rebuild = askedFor ?? await rebuildReason(nc, found, stream);
  if (rebuild === undefined) return { position: found };
  const outcome = await store.reset(found.revision, {
    stream: stream.createdAt,
    sequence: 0,
    ...(stream.messages > 0 && { rebuildTo: stream.lastSequence }),
  });
  if (outcome.kind === "conflict") throw anotherWriter(await store.position());
  return { position: outcome.position, rebuild };
}

async function rebuildReason(
  nc: Connection,
  found: ProjectionPosition,
  stream: StreamState,
): Promise<string | undefined> {
  const timeAtPosition = found.sequence === 0
    ? undefined
    : await readMessageTime(nc, JOBS_STREAM, found.sequence, patience());
  const facts = { ...stream, ...(timeAtPosition !== undefined && { timeAtPosition }) };
  const verdict = judgePosition(found, facts);
  return verdict.kind === "rebuild" ? verdict.reason : undefined;
}

/** What projecting needs to know. */
export interface StepOptions {
  readonly store: ProjectionStore;
  readonly keepLogs?: number;
  readonly clock?: () => number;
}

/** Writes messages that come after a position; gives the position after them. */
export async function projectMessages(
  { store, keepLogs, clock = Date.now }: StepOptions,
  position: ProjectionPosition,
  messages: readonly ReadMessage[],
): Promise<ProjectionPosition> {
  const batch = readBatch(position, messages);
  const kept = keepLogs === undefined ? {} : { keepLogs };
  return await write(
    store,
    position,
    (revision) => projectBatch(store, batch, { revision, now: clock(), ...kept }),
  );
}

/** Notes that nothing is left up to a place: what was there was deleted before it was read. */
export async function passOver(
  store: ProjectionStore,
  position: ProjectionPosition,
  sequence: number,
): Promise<ProjectionPosition> {
  if (sequence <= position.sequence && position.rebuildTo === undefined) return position;
  const { skipped: _, revision: __, rebuildTo: ___, sequenceTime: ____, ...kept } = position;
  const next = {
    ...kept,
    sequence: Math.max(sequence, position.sequence),
    ...(position.sequence > 0 && { holesAt: sequence }),
  };
  return await write(
    store,
    position,
    (expectedRevision) =>
      store.commit({ expectedRevision, position: next, jobs: [], statistics: [], skipped: {} }),
  );
}

/** Repeats a step that lost to a removal of rows; another projector's write ends the run. */
async function write(
  store: ProjectionStore,
  position: ProjectionPosition,
  step: (revision: number) => Promise<CommitOutcome>,
): Promise<ProjectionPosition> {
  for (let { revision } = position;;) {
    const outcome = await step(revision);
    if (outcome.kind === "stored") return outcome.position;
    const found = await store.position();
    const same = found.sequence === position.sequence && found.stream === position.stream;
    if (!same) throw anotherWriter(found);
    revision = found.revision;
  }
}

function anotherWriter({ sequence }: ProjectionPosition): Error {
  return new Error(
    `Cannot project: another projector writes to the same store and is at place ${sequence}; let ` +
      `one process own it`,
  );
}
