/** What was last written or read of each entry: saves a read when nobody else has written since. */

/** An entry as it was last known. */
export interface Known<State> {
  /** The state; `undefined` when there is none. */
  readonly state: State | undefined;
  /** What the next write expects. */
  readonly revision: number;
}

/** A bounded memory of entries; the longest unused go first. */
export interface Memory<State> {
  /** Gives what is known, and forgets it: whoever uses it puts back what came of it. */
  take(key: string): Known<State> | undefined;
  /** Remembers an entry. */
  put(key: string, known: Known<State>): void;
  /** The newest revision that was ever known: a read that gives an older one comes from a replica that lags. */
  newest(key: string): number;
}

interface Slot<State> {
  readonly known: Known<State> | undefined;
  readonly revision: number;
  readonly weight: number;
}

/** Makes a memory that holds states up to a weight in all. */
export function createMemory<State>(
  weigh: (state: State) => number,
  mostWeight: number,
): Memory<State> {
  const slots = new Map<string, Slot<State>>();
  let total = 0;
  const drop = (key: string): Slot<State> | undefined => {
    const slot = slots.get(key);
    slots.delete(key);
    total -= slot?.weight ?? 0;
    return slot;
  };
  const keep = (key: string, slot: Slot<State>) => {
    slots.set(key, slot);
    total += slot.weight;
    for (const oldest of slots.keys()) {
      if (total <= mostWeight) break;
      drop(oldest);
    }
  };
  return {
    take(key) {
      const slot = drop(key);
      if (slot !== undefined) keep(key, { known: undefined, revision: slot.revision, weight: 1 });
      return slot?.known;
    },
    put(key, known) {
      const revision = Math.max(known.revision, drop(key)?.revision ?? 0);
      const weight = 1 + (known.state === undefined ? 0 : weigh(known.state));
      keep(key, { known, revision, weight });
    },
    newest: (key) => slots.get(key)?.revision ?? 0,
  };
}
