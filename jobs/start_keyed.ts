/**
 * Starting a try of a keyed job: admit → wait for its turn → start, and the key is left clean when
 * there is nothing to start.
 *
 * @module
 */

import { err, type Result } from "../protocol/mod.ts";
import { type Admission, isPast } from "./admit.ts";
import type { LifeOptions } from "./job_life.ts";
import type { JobKey, KeyLine, QueueKeys } from "./key_port.ts";
import type { KeyedJobs } from "./keyed_history.ts";
import { createKeyedTry, type KeyedTry } from "./keyed_try.ts";
import { validatePayload } from "./payload.ts";
import { randomHex } from "./_random.ts";
import {
  begin,
  endUntried,
  firstAdmission,
  MOST_RACES,
  readmit,
  refuse,
  REFUSED_DELAY_MS,
  type RunAdmission,
  settled,
  type SettledOutcome,
  type StartOutcome,
  tooManyRaces,
} from "./start_try.ts";
import type { WaitingRoom } from "./_waiting_room.ts";
import type { WorkItem } from "./work_item.ts";

/** What the lives of keyed jobs need beside. */
export interface KeyedLifeOptions {
  /** The keys of the queue. */
  readonly keys: QueueKeys;
  /** Those who wait for them. */
  readonly line: KeyLine;
  /** The history of the queue's jobs. */
  readonly history: KeyedJobs;
  /** Where they wait. */
  readonly room: WaitingRoom;
  /** Tells whether giving a delivery back once more could be its last. */
  readonly isNear: (reply: string | undefined) => boolean;
}

/** The one who waits: how it is put aside, and how it is called away. */
export interface Waiting {
  /** Told the key and that the wait begins; gives what calls it away. */
  begin(key: JobKey): AbortSignal;
  /** Told each time that it must wait. */
  aside(): void;
  /** Resolves when it could begin. */
  ready(): Promise<void> | undefined;
  /** Told that the wait is over, however it ended. */
  end(): void;
  /** Told when its slot is lost. */
  lost(why: string): void;
  /** Why it was called away: to go back after a delay, or to look at its history again. */
  calledAway(): SettledOutcome | "look";
}

/** Admits the work, waits for its turn and stores `started`, or whatever else is to be done. */
export async function startKeyed(
  item: WorkItem,
  options: LifeOptions,
  keyed: KeyedLifeOptions,
  waiting: Waiting,
): Promise<StartOutcome> {
  const payload = await validatePayload(options.payload, item.payload);
  const key = await keyOf(item, payload, keyed.keys);
  let admission: Admission = await firstAdmission(item, options);
  let held: KeyedTry | undefined;
  for (let race = 0; race < MOST_RACES; race++) {
    if (admission.kind === "run" && payload.ok && key.ok) {
      const turn: KeyedTry | SettledOutcome | "look" = held ??
        await waitForTurn(item, admission, key.value, options, keyed, waiting);
      if (turn === "look") {
        admission = await readmit(item, options);
        continue;
      }
      if ("kind" in turn) return turn;
      held = turn;
      if (!isPast(item.deadline, options.clock())) {
        const outcome = await startIn(held, item, admission, payload, options);
        if (outcome !== "lost") return outcome;
        admission = await readmit(item, options);
        continue;
      }
      // Its time ran out while it waited.
      admission = { ...admission, kind: "expire", tries: admission.tries - 1 };
    }
    const outcome = admission.kind !== "run"
      ? await endUntried(item, admission, options)
      : await refuse(item, admission, whyNot(payload, key), options);
    if (outcome !== "lost") {
      await leaveKey(item, key, held, keyed);
      return outcome;
    }
    admission = await readmit(item, options);
  }
  await held?.slot.handBack();
  return tooManyRaces(item, options);
}

/** Starts in a slot; one that is no longer ours is no slot to start in. */
async function startIn(
  held: KeyedTry,
  item: WorkItem,
  admission: RunAdmission,
  payload: Result<unknown, string>,
  options: LifeOptions,
): Promise<StartOutcome | "lost"> {
  const outcome = await begin(item, admission, payload, options, held);
  // Whoever came first may have taken the slot as well: the lease alone does not tell.
  if (outcome === "lost") return await held.slot.renew() ? "lost" : slotLost(item, held, options);
  if (outcome.kind === "settled") await held.slot.handBack();
  else if (!await held.slot.confirm()) return slotLost(item, held, options);
  return outcome;
}

/** As if the worker had died: another delivery will begin anew. */
function slotLost(item: WorkItem, { key }: KeyedTry, options: LifeOptions): SettledOutcome {
  options.log("warn", "slot-lost", { ...options.queue, jobId: item.jobId, key: key.key });
  return settled({ kind: "leave" });
}

async function waitForTurn(
  item: WorkItem,
  { tries, previousState }: RunAdmission,
  key: JobKey,
  options: LifeOptions,
  { line, history }: KeyedLifeOptions,
  waiting: Waiting,
): Promise<KeyedTry | SettledOutcome | "look"> {
  const { instanceId, log, queue } = options;
  const { jobId, context: { requestId } } = item;
  const slotToken = randomHex(16);
  const skippable = previousState !== "active";
  const turn = await line.take(
    { key, jobId, requestId, slotToken, instanceId, tries, skippable },
    {
      signal: waiting.begin(key),
      onWait: waiting.aside,
      ready: waiting.ready,
      onLost: waiting.lost,
    },
  );
  waiting.end();
  if (!turn.ok) {
    log("error", "key-refused", { ...queue, jobId, key: key.key, error: turn.error.message });
    return settled({ kind: "nak", delayMs: REFUSED_DELAY_MS });
  }
  switch (turn.value.kind) {
    case "acquired":
      return createKeyedTry(key, turn.value.slot, instanceId);
    case "replaced":
      await history.skip(jobId, key, turn.value.byJobId);
      return settled({ kind: "ack" });
    case "aborted":
      return waiting.calledAway();
  }
}

/** A job that has ended takes no place any more; a slot goes only with an end that its owner wrote. */
async function leaveKey(
  { jobId }: WorkItem,
  key: Result<JobKey, string>,
  held: KeyedTry | undefined,
  { keys, history }: KeyedLifeOptions,
): Promise<void> {
  if (held !== undefined) return await held.slot.release();
  if (!key.ok) return;
  const fate = await history.fate(jobId);
  if (fate.kind === "absent") await keys.withdraw(key.value, jobId);
  if (fate.kind === "ended") await keys.withdraw(key.value, jobId, fate.slotToken);
}

/** The key that the job was created with; after a retry, which does not repeat it, of its payload. */
async function keyOf(
  item: WorkItem,
  payload: Result<unknown, string>,
  keys: QueueKeys,
): Promise<Result<JobKey, string>> {
  if (item.key !== undefined) return { ok: true, value: item.key };
  if (!payload.ok) return err(payload.error);
  const derived = await keys.derive(payload.value);
  return derived.ok ? derived : err(derived.error.message);
}

function whyNot(payload: Result<unknown, string>, key: Result<JobKey, string>): string {
  if (!payload.ok) return `the payload does not fit, ${payload.error}`;
  return key.ok ? "it has no key" : key.error;
}
