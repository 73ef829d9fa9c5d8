/**
 * Standing for a seat: whoever holds it works until it loses the lease, the others wait for it.
 *
 * @module
 */

import { type Connection, onReconnect, type Publisher } from "../nats/mod.ts";
import { bucketSubject } from "../protocol/mod.ts";
import { openEntries } from "./entries.ts";
import { keepLease, type Renewal } from "./keep_lease.ts";
import type { Lease } from "./lease.ts";
import { claimSeat, decodeSeat, encodeSeat, resignSeat, type Seat } from "./owner.ts";

/** What a candidate needs. */
export interface CandidateOptions {
  /** The connection. */
  readonly connection: Connection;
  /** Where writes go. */
  readonly publisher: Publisher;
  /** The bucket of the seat. */
  readonly bucket: string;
  /** The seat's entry. */
  readonly entryKey: string;
  /** This process, for people. */
  readonly holder: string;
  /** How long a lease lasts without renewal; the others wait so long when an owner dies. */
  readonly ttlMs: number;
  /** How often the owner renews it. */
  readonly intervalMs: number;
  /** What the owner does until the signal is aborted; when it returns earlier, the seat is left. */
  readonly work: (tenure: { readonly term: number; readonly signal: AbortSignal }) => Promise<void>;
  /** Told of trouble: the lease was lost, the work has thrown, nobody answers. */
  readonly onTrouble?: (why: string) => void;
}

/** A candidacy under way. */
export interface Candidate {
  /** The present term, when this process is the owner. */
  term(): number | undefined;
  /** Withdraws: the work is aborted and waited for, and the seat is left. */
  stop(): Promise<void>;
}

/** What is heard is stored a moment later, or never. */
const LOOK_AFTER_MS = [20, 100, 500];
/** The seat is looked at after so long in any case. */
const REREAD_MS = 60_000;

/** Stands for a seat until stopped, again and again. */
export function standForSeat(options: CandidateOptions): Candidate {
  const { connection, bucket, entryKey, holder, ttlMs, intervalMs, onTrouble } = options;
  const token = crypto.randomUUID();
  const seats = openEntries<Seat>({ ...options, encode: encodeSeat, decode: decodeSeat });
  const stopping = new AbortController();
  let term: number | undefined;
  let wake = () => {};
  let looks = LOOK_AFTER_MS.length;
  // A hint only: what is heard may have been refused, so the claim reads.
  const subscription = connection.subscribe(bucketSubject(bucket, entryKey), {
    callback(error, message) {
      seats.heard(entryKey);
      // Renewals are heard as well, and are no reason to ask.
      const heard = error === null ? decodeSeat(message.data) : undefined;
      if (heard?.ok !== true || heard.value.owner !== undefined) return;
      looks = 0;
      wake();
    },
  });
  const stopWatching = onReconnect(connection, () => wake());
  const claim = () =>
    seats.change(entryKey, (seat, now) => claimSeat(seat, { holder, token, ttlMs }, now));
  const renew = async (): Promise<Renewal> => {
    const renewed = await claim();
    if (!renewed.ok) return { kind: "unknown", why: renewed.error.message };
    const { value } = renewed;
    if (value.kind === "taken") return { kind: "lost", why: `${value.by} has the seat` };
    // Elected anew: somebody else was the owner in between, and is no more.
    if (value.term !== term) return { kind: "lost", why: `term ${value.term} has begun` };
    return { kind: "renewed", lease: value.lease };
  };
  const serve = async (present: number, lease: Lease): Promise<void> => {
    term = present;
    const ended = new AbortController();
    const kept = keepLease({
      lease,
      intervalMs,
      renew,
      onLost(why) {
        onTrouble?.(why);
        ended.abort(new Error(`Cannot go on as the owner: ${why}`));
      },
    });
    const stop = () => ended.abort(new Error("Cannot go on as the owner: it stops"));
    stopping.signal.addEventListener("abort", stop, { once: true });
    // It may have been stopped while the claim was under way.
    if (stopping.signal.aborted) stop();
    try {
      await options.work({ term: present, signal: ended.signal });
    } catch (thrown) {
      onTrouble?.(thrown instanceof Error ? thrown.message : String(thrown));
    } finally {
      stopping.signal.removeEventListener("abort", stop);
      kept.stop();
      term = undefined;
      await seats.change(entryKey, (seat) => resignSeat(seat, token));
    }
  };
  const run = async () => {
    while (!stopping.signal.aborted) {
      const claimed = await claim();
      let waitMs = intervalMs;
      if (!claimed.ok) onTrouble?.(claimed.error.message);
      else if (claimed.value.kind === "taken") {
        const untilMs = Math.max(claimed.value.until - Date.now(), 0) + Math.random() * 100;
        waitMs = Math.min(untilMs, LOOK_AFTER_MS[looks++] ?? REREAD_MS);
      } else await serve(claimed.value.term, claimed.value.lease);
      if (!stopping.signal.aborted) await rest(waitMs);
    }
  };
  const rest = async (waitMs: number): Promise<void> => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      wake = resolve;
      timer = setTimeout(resolve, waitMs);
    });
    clearTimeout(timer);
  };
  const running = run();
  return {
    term: () => term,
    async stop() {
      stopping.abort();
      wake();
      await running;
      stopWatching();
      if (!connection.isClosed()) subscription.unsubscribe();
    },
  };
}
