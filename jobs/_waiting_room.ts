/** Jobs that wait for their keys: kept alive, without a hand, and not more than there is room for. */

/** A job that may have to wait. */
export interface Waiter {
  /** Hash of the key it waits for. */
  keyHash(): string | undefined;
  /** How often it was delivered. */
  deliveries(): number;
  /** Whether it may be called away: it was not yet, and its work can be delivered again. */
  mayGoBack(): boolean;
  /** Calls it away from its key: the work goes back, and comes again after the delay. */
  callAway(delayMs: number): void;
}

/** The room of one worker. */
export interface WaitingRoom {
  /** How many are in it. */
  size(): number;
  /** Takes a job in; its hand is free. */
  enter(waiter: Waiter): void;
  /** Gives a hand to a job in the room: at once, or as soon as one is free. */
  hand(waiter: Waiter, signal: AbortSignal): Promise<void> | undefined;
  /** Whether nobody else should be let in. */
  isFull(): boolean;
  /** Gives a free hand to the first who wants one; false when nobody does, and then a full room is thinned. */
  serve(): boolean;
  /** Lets a job go. */
  leave(waiter: Waiter): void;
  /** Calls everybody away, also those who come later. */
  close(): void;
}

/** What the room needs to know. */
export interface WaitingRoomOptions {
  /** How many it holds before it is thinned. */
  readonly most: number;
  /** Whether a hand is free. */
  readonly handIsFree: () => boolean;
  /** Called when a hand became free. */
  readonly onHandFree: () => void;
  /** Chance. */
  readonly random: () => number;
}

/** A job whose turn may have come goes back after so long without a hand: another process may have one. */
const HANDLESS_MS = 1_000;
/** Work that is given back so that others come in waits so long at first, and ever longer. */
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;
/** So much of the deepest key goes at once. */
const THINNED_SHARE = 0.25;

/** Makes an empty room. */
export function createWaitingRoom(options: WaitingRoomOptions): WaitingRoom {
  const { most, handIsFree, onHandFree, random } = options;
  const room = new Set<Waiter>();
  const wanting = new Map<Waiter, () => void>();
  let closed = false;
  /** One hot key must not keep the others out while hands are idle. */
  const thin = () => {
    for (const waiter of youngestOfDeepest(room, wanting)) {
      const delayMs = FIRST_DELAY_MS * 2 ** Math.min(waiter.deliveries() - 1, 10);
      waiter.callAway(Math.min(delayMs, LONGEST_DELAY_MS) * (0.75 + random() / 2));
    }
  };
  return {
    size: () => room.size,
    isFull: () => room.size >= most,
    enter(waiter) {
      if (room.has(waiter)) return;
      room.add(waiter);
      if (closed) return waiter.callAway(0);
      onHandFree();
    },
    hand(waiter, signal) {
      if (!room.has(waiter)) return undefined;
      if (handIsFree()) {
        room.delete(waiter);
        return undefined;
      }
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          wanting.delete(waiter);
          signal.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(() => {
          if (waiter.mayGoBack()) waiter.callAway(0);
        }, HANDLESS_MS);
        signal.addEventListener("abort", done);
        wanting.set(waiter, done);
      });
    },
    serve() {
      for (const [waiter, serve] of wanting) {
        room.delete(waiter);
        serve();
        return true;
      }
      if (room.size >= most) thin();
      return false;
    },
    leave: (waiter) => void room.delete(waiter),
    close() {
      closed = true;
      for (const waiter of [...room]) waiter.callAway(0);
    },
  };
}

/** The last that came in for the key for which most wait; those who are about to begin stay. */
function youngestOfDeepest(
  room: ReadonlySet<Waiter>,
  wanting: ReadonlyMap<Waiter, unknown>,
): Waiter[] {
  const byKey = Map.groupBy(room, (waiter) => waiter.keyHash() ?? "");
  const deepest = [...byKey.values()].reduce((a, b) => b.length > a.length ? b : a, []);
  const count = Math.ceil(deepest.length * THINNED_SHARE);
  return deepest.filter((waiter) => !wanting.has(waiter) && waiter.mayGoBack())
    .slice(-count);
}
