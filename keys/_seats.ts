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
  take(what: string): WaitingSeat;
  /** Wakes all who wait for this. */
  wake(what: string): void;
  /** How many wait, by what they wait for. */
  taken(): ReadonlyMap<string, number>;
}

/** Makes an empty room. */
export function createSeats(): Seats {
  const rooms = new Map<string, Set<() => void>>();
  return {
    take(what) {
      const room = rooms.get(what) ?? new Set();
      rooms.set(what, room);
      let woken = false;
      let resume = () => {};
      const wake = () => {
        woken = true;
        resume();
      };
      room.add(wake);
      return {
        async wait(waitMs, signal) {
          if (!woken && !signal.aborted) {
            let timer: ReturnType<typeof setTimeout> | undefined;
            let goOn = () => {};
            await new Promise<void>((resolve) => {
              resume = goOn = resolve;
              timer = setTimeout(resolve, waitMs);
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
          room.delete(wake);
          if (room.size === 0) rooms.delete(what);
        },
      };
    },
    wake(what) {
      for (const wake of rooms.get(what) ?? []) wake();
    },
    taken: () => new Map([...rooms].map(([what, { size }]) => [what, size])),
  };
}
