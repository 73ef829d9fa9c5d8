/**
 * Key entries that no live job explains: a waiting job that has ended or never was, and an expired
 * slot of such a job. Workers clean what stands in their way; this cleans where nobody comes by.
 *
 * @module
 */

import type { Lifecycle } from "../../jobs/mod.ts";
import { decodeKeyState, isExpired, type KeyState } from "../../keys/mod.ts";
import { openReading, wholeMessage } from "../../nats/mod.ts";
import { pause } from "../../projection/supervise.ts";
import {
  bucketStream,
  bucketSubject,
  KEYS_BUCKET,
  parseKeyStateKey,
  valueOrThrow,
} from "../../protocol/mod.ts";
import { openForeignKeys } from "./key_port.ts";
import { type AdminLoop, startLoop, type Tally } from "./loop.ts";

/** What the loop works with. */
export interface ReconcileKeysOptions {
  /** The history. */
  readonly lifecycle: Lifecycle;
  /** Prefix of reply subjects; `_INBOX` when left out. */
  readonly inboxPrefix?: string;
  /** How long between two rounds; 5 minutes. */
  readonly everyMs?: number;
  /** How long a waiting job may have no event; a minute. */
  readonly graceMs?: number;
  /** The present instant. */
  readonly clock: () => number;
  /** Told what happens, in words. */
  readonly onNote: (note: string) => void;
}

const EVERY_MS = 5 * 60_000;
const GRACE_MS = 60_000;
const BATCH = 100;
/** Between two entries; each may cost a few reads of old jobs. */
const GENTLE_MS = 10;

/** Starts the loop. */
export function startKeyReconciler(options: ReconcileKeysOptions): AdminLoop {
  return startLoop({
    name: "the key reconciler",
    everyMs: options.everyMs ?? EVERY_MS,
    onNote: options.onNote,
    look: (signal, tally) => reconcileKeys(options, signal, tally),
  });
}

async function reconcileKeys(
  options: ReconcileKeysOptions,
  signal: AbortSignal,
  tally: Tally,
): Promise<void> {
  const { lifecycle: { connection }, inboxPrefix, onNote } = options;
  using reading = await openReading(connection, {
    read: wholeMessage,
    stream: bucketStream(KEYS_BUCKET),
    filter: bucketSubject(KEYS_BUCKET, ">"),
    from: "last-per-subject",
    ...(inboxPrefix !== undefined && { inboxPrefix }),
  });
  for (let left = reading.pendingAtStart; left > 0 && !signal.aborted;) {
    const messages = await reading.take(Math.min(left, BATCH));
    left -= messages.length;
    for (const { subject, data } of messages) {
      if (data.length === 0 || signal.aborted) continue;
      const place = parseKeyStateKey(subject.slice(bucketSubject(KEYS_BUCKET, "").length));
      const state = place.ok ? decodeKeyState(data, place.value) : place;
      tally.add(state.ok ? "checked" : "unreadable");
      if (state.ok) await tidyKey(options, state.value, tally);
      else onNote(`the key entry ${subject} cannot be read: ${state.error}`);
      await pause(GENTLE_MS, signal);
    }
  }
}

async function tidyKey(
  { lifecycle, clock, onNote, graceMs = GRACE_MS }: ReconcileKeysOptions,
  state: KeyState,
  tally: Tally,
): Promise<void> {
  const { service, jobType } = state;
  const { keys, jobs } = openForeignKeys(lifecycle, { service, jobType });
  const tell = (jobId: string) => {
    tally.add("freed");
    onNote(`job ${jobId} no longer stands in the way of key ${state.key} of ${service} ${jobType}`);
  };
  for (const { jobId, createdAt } of state.queued) {
    if (clock() - createdAt < graceMs) continue;
    const fate = await jobs.fate(jobId);
    if (fate.kind !== "ended" && fate.kind !== "absent") continue;
    valueOrThrow(await keys.withdraw(state, jobId));
    tell(jobId);
  }
  for (const slot of state.active) {
    if (!isExpired(slot, clock())) continue;
    const fate = await jobs.fate(slot.jobId);
    if (fate.kind !== "ended" && fate.kind !== "absent") continue;
    valueOrThrow(await keys.revoke(state, { slotToken: slot.slotToken }));
    tell(slot.jobId);
  }
}
