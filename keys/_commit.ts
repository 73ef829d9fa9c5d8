/** One change of an entry: read, decide, write if nobody else has, else again, and not for ever. */

import {
  API_ERROR,
  type Connection,
  deleteEntry,
  type EntryWrite,
  errorMessage,
  isDenied,
  type Publisher,
  readEntry,
  writeEntry,
} from "../nats/mod.ts";
import { err, ok, type Result } from "../protocol/mod.ts";
import type { Known, Memory } from "./_memory.ts";
import { KeyError } from "./key_error.ts";

/** Where entries lie, and how they are written and read. */
export interface EntryStore<State> {
  /** The connection. */
  readonly connection: Connection;
  /** Where writes go. */
  readonly publisher: Publisher;
  /** The bucket. */
  readonly bucket: string;
  /** Writes a state. */
  readonly encode: (state: State, now: number) => Uint8Array;
  /** Reads a state; a reason when it cannot be read. */
  readonly decode: (data: Uint8Array, entryKey: string) => Result<State, string>;
  /** The present instant. */
  readonly clock: () => number;
  /** Chance, from 0 to 1. */
  readonly random: () => number;
}

/** A change to be made. */
export interface Commit<State> {
  /** The entry. */
  readonly entryKey: string;
  /** Decides; called again whenever the state has turned out to be another. */
  readonly apply: (known: Known<State>, now: number) => State | undefined;
  /** An unreachable server is waited for until then. */
  readonly giveUpAt: number;
}

/** Conflicts in a row after which a change is given up: each means that somebody else came through. */
const MOST_CONFLICTS = 64;
/** A read is asked again after so long: one that a broken connection took with it is never answered. */
const ANSWER_MS = 1_000;
/** Replicas were seen to lag by up to 10 ms. */
const REPLICA_LAG_MS = 10;
/** Refusals that are no verdict: the same write may succeed a moment later. */
const NO_VERDICT: readonly number[] = [
  API_ERROR.wrongLastSequenceInFlight,
  API_ERROR.temporarilyUnavailable,
];

/** Makes a change; Ok when what was decided is stored, or was found to need no write. */
export async function commit<State>(
  store: EntryStore<State>,
  memory: Memory<State>,
  writing: Set<string>,
  { entryKey, apply, giveUpAt }: Commit<State>,
): Promise<Result<void, KeyError>> {
  let trouble = 0;
  for (let conflicts = 0; conflicts < MOST_CONFLICTS;) {
    const remembered = memory.take(entryKey);
    const known = remembered === undefined
      ? await readKnown(store, entryKey, memory.newest(entryKey), giveUpAt)
      : ok(remembered);
    if (!known.ok) return known;
    const { state, revision } = known.value;
    const now = store.clock();
    const next = apply(known.value, now);
    if (next === state) {
      // What is remembered may be old; only a write proves that it is not.
      if (remembered !== undefined) continue;
      memory.put(entryKey, known.value);
      return ok(undefined);
    }
    const data = next === undefined ? undefined : store.encode(next, now);
    const problem = sizeProblem(store, data);
    if (problem !== undefined) return err(refused(entryKey, problem));
    writing.add(entryKey);
    const written = await write(store, entryKey, data, revision);
    writing.delete(entryKey);
    if (written.kind === "stored") {
      memory.put(entryKey, { state: next, revision: written.revision });
      return ok(undefined);
    }
    if (written.kind === "conflict") {
      conflicts++;
      // At once after the first, then longer and by chance, so that many do not meet again.
      if (conflicts > 1) await pause(store.random() * Math.min(2 ** conflicts, 64));
      continue;
    }
    if (written.kind === "refused" && !NO_VERDICT.includes(written.code)) {
      return err(refused(entryKey, written.description));
    }
    const pauseMs = store.random() * Math.min(25 * 2 ** trouble++, 1_000);
    if (Date.now() + pauseMs >= giveUpAt || store.connection.isClosed()) {
      return err(unavailable(entryKey, written.description));
    }
    await pause(pauseMs);
  }
  const why = `others wrote first ${MOST_CONFLICTS} times in a row; try again`;
  return err(new KeyError("contended", `Cannot change the entry ${entryKey}: ${why}`));
}

async function readKnown<State>(
  { connection, bucket, decode }: EntryStore<State>,
  entryKey: string,
  newest: number,
  giveUpAt: number,
): Promise<Result<Known<State>, KeyError>> {
  try {
    for (;;) {
      const options = { giveUpAt, answerMs: ANSWER_MS };
      const { value, revision } = await readEntry(connection, bucket, entryKey, options);
      if (revision < newest && Date.now() < giveUpAt) {
        // Any replica may answer, also one that lags behind what we have written ourselves.
        await pause(REPLICA_LAG_MS);
        continue;
      }
      if (value === undefined) return ok({ state: undefined, revision });
      const decoded = decode(value, entryKey);
      if (decoded.ok) return ok({ state: decoded.value, revision });
      return err(unreadable(bucket, entryKey, decoded.error));
    }
  } catch (cause) {
    const why = errorMessage(cause);
    return err(isDenied(cause) ? refused(entryKey, why) : unavailable(entryKey, why));
  }
}

function write<State>(
  { publisher, bucket }: EntryStore<State>,
  entryKey: string,
  data: Uint8Array | undefined,
  revision: number,
): Promise<EntryWrite> {
  return data === undefined
    ? deleteEntry(publisher, bucket, entryKey, revision)
    : writeEntry(publisher, bucket, entryKey, data, revision);
}

/** Room for the headers of a write. */
const HEADER_BYTES = 256;

function sizeProblem<State>(
  { connection }: EntryStore<State>,
  data: Uint8Array | undefined,
): string | undefined {
  const most = (connection.info?.max_payload ?? Infinity) - HEADER_BYTES;
  if (data === undefined || data.length <= most) return undefined;
  return `it would have ${data.length} bytes, the server takes ${most}; lower maxQueuedPerKey`;
}

function unreadable(bucket: string, entryKey: string, why: string): KeyError {
  const advice = "look at it, and delete it if nothing of that key runs";
  const message = `Cannot read the entry ${entryKey} of ${bucket}: ${why}; ${advice}`;
  return new KeyError("unreadable", message);
}

function unavailable(entryKey: string, why: string): KeyError {
  return new KeyError("unavailable", `Cannot change the entry ${entryKey}: ${why}; try again`);
}

function refused(entryKey: string, why: string): KeyError {
  return new KeyError("refused", `Cannot change the entry ${entryKey}: ${why}`);
}

function pause(waitMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, waitMs));
}
