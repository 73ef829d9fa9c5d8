/** Acknowledgements go out together: each write to the socket costs more than what it carries. */

import { type Connection, settle, type Settlement } from "../nats/mod.ts";

/** Settles deliveries. */
export interface AckBatch {
  /** Settles a delivery; an acknowledgement may go out a moment later. */
  settle(reply: string, settlement: Settlement): void;
  /** Sends what waits. */
  flush(): void;
}

/**
 * Collects acknowledgements for a turn of the event loop. Nothing rests on their speed: the job's
 * end is stored before, and an acknowledgement that is lost repeats a look at it and no work.
 */
export function createAckBatch(connection: Connection): AckBatch {
  let waiting: string[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const replies = waiting;
    waiting = [];
    for (const reply of replies) settle(connection, reply, { kind: "ack" });
  };
  return {
    settle(reply, settlement) {
      if (settlement.kind !== "ack") return settle(connection, reply, settlement);
      waiting.push(reply);
      timer ??= setTimeout(flush, 0);
    },
    flush,
  };
}
