/** Work that was delivered nearly too often: it is held here until its time has come, not given back. */

import { type Connection, type Message, parseDelivery, settle } from "../nats/mod.ts";

/** Work that is held. */
export interface Holdback {
  /** Tells whether giving this work back once more could be the last time it is delivered. */
  isNear(reply: string | undefined): boolean;
  /** Holds work for so long instead of giving it back; false when it may go back as usual. */
  takes(message: Message, delayMs: number): boolean;
  /** What is held. */
  messages(): Iterable<Message>;
  /** Gives everything back after all, because this process ends. */
  giveBack(): void;
}

/** What holding needs. */
export interface HoldbackOptions {
  /** The connection. */
  readonly connection: Connection;
  /** Deliveries after which the server gives work up. */
  readonly maxDeliveries: number;
  /** Takes work whose time has come. */
  readonly onDue: (message: Message) => void;
}

/** Deliveries that are left for processes that end or die while they hold the work. */
const RESERVE = 50;
/** Timers count in 32 bits. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Holds what must not go back: after its last delivery the server would keep the work to itself. */
export function createHoldback({ connection, maxDeliveries, onDue }: HoldbackOptions): Holdback {
  const nearFrom = maxDeliveries - Math.min(RESERVE, Math.floor(maxDeliveries / 2));
  const held = new Map<Message, { dueAt: number; timer: ReturnType<typeof setTimeout> }>();
  const isNear = (reply: string | undefined) => (parseDelivery(reply)?.deliveries ?? 0) >= nearFrom;
  const hold = (message: Message, dueAt: number): void => {
    const waitMs = Math.min(Math.max(dueAt - Date.now(), 0), LONGEST_TIMER_MS);
    const timer = setTimeout(() => {
      if (Date.now() < dueAt) return hold(message, dueAt);
      held.delete(message);
      onDue(message);
    }, waitMs);
    held.set(message, { dueAt, timer });
  };
  return {
    isNear,
    takes(message, delayMs) {
      const near = isNear(message.reply);
      if (near) hold(message, Date.now() + delayMs);
      return near;
    },
    messages: () => held.keys(),
    giveBack() {
      for (const [{ reply }, { dueAt, timer }] of held) {
        clearTimeout(timer);
        const delayMs = Math.max(dueAt - Date.now(), 0);
        if (reply !== undefined) settle(connection, reply, { kind: "nak", delayMs });
      }
      held.clear();
    },
  };
}
