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
}

/** Makes a memory that holds states up to a weight in all. */
export function createMemory<State>(
  weigh: (state: State) => number,
  mostWeight: number,
): Memory<State> {
  const entries = new Map<string, { known: Known<State>; weight: number }>();
  let total = 0;
  const drop = (key: string) => {
    const found = entries.get(key);
    if (found === undefined) return undefined;
    entries.delete(key);
    total -= found.weight;
    return found.known;
  };
  return {
    take: drop,
    put(key, known) {
      drop(key);
      const weight = known.state === undefined ? 1 : weigh(known.state);
      entries.set(key, { known, weight });
      total += weight;
      for (const oldest of entries.keys()) {
        if (total <= mostWeight) break;
        drop(oldest);
      }
    },
  };
}
