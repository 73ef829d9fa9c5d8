/**
 * The lean publisher of the hand-written loop: what a good engineer writes who knows the protocol.
 *
 * One inbox for all answers, numbers as tokens, one timer for all time-outs, and the sequence read
 * from the bytes of the answer. It shares no code with the library, on purpose.
 */

import type { Connection } from "../nats/mod.ts";

/** Publishes to a stream and resolves with the place; rejects when the server refuses or is silent. */
export interface RawPublisher extends Disposable {
  publish(subject: string, data: Uint8Array, headers: Uint8Array): Promise<number>;
}

interface Waiter {
  readonly resolve: (sequence: number) => void;
  readonly reject: (error: Error) => void;
  sweeps: number;
}

const SWEEP_MS = 2_500;
const [QUOTE, COLON, LETTER_E, LETTER_Q, ZERO] = [0x22, 0x3a, 0x65, 0x71, 0x30];
const decoder = new TextDecoder();

/** Makes the publisher. */
export function createRawPublisher(nc: Connection): RawPublisher {
  const inbox = `_INBOX.raw${crypto.randomUUID().replaceAll("-", "")}.`;
  const waiting = new Map<number, Waiter>();
  let lastToken = 0;
  const subscription = nc.subscribe(`${inbox}*`, {
    callback(_error, message) {
      const token = Number(message.subject.slice(inbox.length));
      const waiter = waiting.get(token);
      if (waiter === undefined) return;
      waiting.delete(token);
      const sequence = readSequence(message.data);
      if (sequence > 0) waiter.resolve(sequence);
      else waiter.reject(new Error(`Cannot publish: ${decoder.decode(message.data)}`));
    },
  });
  const sweeper = setInterval(() => {
    for (const [token, waiter] of waiting) {
      if (++waiter.sweeps < 3) continue;
      waiting.delete(token);
      waiter.reject(new Error("Cannot publish: no answer"));
    }
  }, SWEEP_MS);
  return {
    publish(subject, data, headers) {
      return new Promise((resolve, reject) => {
        const token = ++lastToken;
        waiting.set(token, { resolve, reject, sweeps: 0 });
        nc.publish(subject, data, { reply: inbox + token, headers: { encode: () => headers } });
      });
    },
    [Symbol.dispose]() {
      clearInterval(sweeper);
      subscription.unsubscribe();
    },
  };
}

/** `{"stream":"JOBS", "seq":41}`: the digits after `q":`; 0 for a refusal, which begins `{"error"`. */
function readSequence(data: Uint8Array): number {
  if (data[2] === LETTER_E) return 0;
  let at = 10;
  while (at < data.length) {
    if (data[at] === LETTER_Q && data[at + 1] === QUOTE && data[at + 2] === COLON) break;
    at++;
  }
  let sequence = 0;
  for (at += 3; at < data.length; at++) {
    const digit = (data[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) break;
    sequence = sequence * 10 + digit;
  }
  return sequence;
}
