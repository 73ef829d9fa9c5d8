/**
 * Delivered messages: what their reply subject says, and how they are settled.
 *
 * @module
 */

import { MAX_BACKOFF_MS } from "../protocol/mod.ts";
import type { Connection } from "./connection.ts";

/** What a delivery says of itself. */
export interface Delivery {
  /** How often the message was delivered, this time included. */
  readonly deliveries: number;
  /** Its place in the stream. */
  readonly streamSequence: number;
  /** How many messages the consumer has delivered, this one included. */
  readonly consumerSequence: number;
  /** When the stream took the message: nanoseconds since 1970, as a decimal text. */
  readonly storedNs: string;
  /** How many messages are still to come, as far as the server knew. */
  readonly pending: number;
}

/** How a delivery is settled. */
export type Settlement =
  /** Done: it is removed. */
  | { readonly kind: "ack" }
  /** Again, after a wait. */
  | { readonly kind: "nak"; readonly delayMs: number }
  /** Never again: it is removed, and the server notes it. */
  | { readonly kind: "term" }
  /** Somebody else has it: nothing is said. */
  | { readonly kind: "leave" };

const ACK = new TextEncoder().encode("+ACK");
const TERM = new TextEncoder().encode("+TERM");
const WORKING = new TextEncoder().encode("+WPI");

/**
 * Reads a delivery's reply subject: nine tokens on older servers, eleven or more where domain and
 * account are in it. `undefined` when it is no delivery.
 *
 * @example
 * ```ts
 * import { parseDelivery } from "./acknowledge.ts";
 * import assert from "node:assert/strict";
 *
 * const reply = "$JS.ACK.JOBS_WORK.billing-charge.2.41.7.1700000000000000000.0";
 * assert.deepEqual(parseDelivery(reply), {
 *   deliveries: 2,
 *   streamSequence: 41,
 *   consumerSequence: 7,
 *   storedNs: "1700000000000000000",
 *   pending: 0,
 * });
 * assert.equal(parseDelivery("_INBOX.x"), undefined);
 * ```
 */
export function parseDelivery(reply: string | undefined): Delivery | undefined {
  if (reply === undefined || !reply.startsWith("$JS.ACK.")) return undefined;
  const tokens = reply.split(".");
  const first = tokens.length === 9 ? 4 : 6;
  if (tokens.length !== 9 && tokens.length < 11) return undefined;
  const deliveries = Number(tokens[first]);
  const streamSequence = Number(tokens[first + 1]);
  if (!Number.isSafeInteger(deliveries) || !Number.isSafeInteger(streamSequence)) return undefined;
  return {
    deliveries,
    streamSequence,
    consumerSequence: Number(tokens[first + 2]),
    storedNs: tokens[first + 3] ?? "0",
    pending: Number(tokens[first + 4]),
  };
}

/** Sends a settlement; returns before the server has it. */
export function settle(nc: Connection, reply: string, settlement: Settlement): void {
  if (settlement.kind === "leave" || nc.isClosed()) return;
  nc.publish(reply, settlementBody(settlement));
}

/** Tells the server that the work goes on: the acknowledgement deadline starts anew. */
export function keepWorking(nc: Connection, reply: string): void {
  if (!nc.isClosed()) nc.publish(reply, WORKING);
}

function settlementBody(settlement: Exclude<Settlement, { kind: "leave" }>): Uint8Array | string {
  if (settlement.kind === "ack") return ACK;
  if (settlement.kind === "term") return TERM;
  // Counted in nanoseconds, a very long wait would overflow at the server and be none at all.
  const delayMs = Math.min(settlement.delayMs, MAX_BACKOFF_MS);
  if (!(delayMs > 0)) return "-NAK";
  return `-NAK {"delay": ${Math.round(delayMs * 1_000_000)}}`;
}
