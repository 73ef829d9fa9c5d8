/** Seats for those who wait: each is woken by what it waits for, by the clock, or by being called away. */

/** A seat of one who waits. */
export interface WaitingSeat {
  /** Waits so long at most; tells whether it was woken, also if that was before the wait began. */
  wait(waitMs: number, signal: AbortSignal): Promise<boolean>;
  /** Gives the seat up. */
  leave(): void;
}

/** Those who wait, by what they wait for. */
export interface Seats {
  /** Takes a seat; to be done before looking, so that nothing is missed in between. */
  take(what: string, order: string): WaitingSeat;
  /** Wakes the first of those who wait for this. */
  wake(what: string): void;
  /** How many wait, by what they wait for. */
  taken(): ReadonlyMap<string, number>;
}

interface Seat {
  readonly order: string;
  readonly wake: () => void;
}

/**
 * Makes an empty room. Only so many of those who wait for the same are woken, by a change or by the
 * clock: it cannot be the turn of those behind them, and each look costs as much as the line is long.
 * Whoever comes to the front is woken by that.
 */
export function createSeats(front: number): Seats {
  const rooms = new Map<string, Seat[]>();
  return {
    take(what, order) {
      const room = rooms.get(what) ?? [];
      rooms.set(what, room);
      let woken = false;
      let resume = () => {};
      const seat: Seat = {
        order,
        wake() {
          woken = true;
          resume();
        },
      };
      const behind = room.findIndex((other) => other.order > order);
      room.splice(behind === -1 ? room.length : behind, 0, seat);
      return {
        async wait(waitMs, signal) {
          if (!woken && !signal.aborted) {
            let timer: ReturnType<typeof setTimeout> | undefined;
            let goOn = () => {};
            await new Promise<void>((resolve) => {
              resume = goOn = resolve;
              if (room.indexOf(seat) < front) timer = setTimeout(resolve, waitMs);
              signal.addEventListener("abort", goOn);
            });
            clearTimeout(timer);
            signal.removeEventListener("abort", goOn);
          }
          const heard = woken;
          woken = false;
          return heard;
        },
        leave() {
          const at = room.indexOf(seat);
          room.splice(at, 1);
          if (at < front) room[front - 1]?.wake();
          if (room.length === 0) rooms.delete(what);
        },
      };
    },
    wake(what) {
      for (const seat of rooms.get(what)?.slice(0, front) ?? []) seat.wake();
    },
    taken: () => new Map([...rooms].map(([what, { length }]) => [what, length])),
  };
}
