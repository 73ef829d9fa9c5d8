/** Figures of a benchmark, and the arithmetic they are made with. */

/** One line of the report. */
export interface Figure {
  /** The benchmark. */
  readonly name: string;
  /** What the library reaches. */
  readonly ours: number;
  /** What the hand-written loop reaches in the same run; `null` where there is none. */
  readonly raw: number | null;
  /** How good ours is beside raw: 1 is as good, more is better; `null` where there is no raw. */
  readonly ratio: number | null;
  /** The smallest and the largest ratio of all repeats; `null` where there is no raw. */
  readonly range: readonly [number, number] | null;
  /** What `ours` and `raw` count. */
  readonly unit: string;
  /** More than a number can say. */
  readonly note?: string;
}

/** How much is run: everything, or just enough to see that it still works. */
export interface Scale {
  /** Whether this is the quick pass. */
  readonly quick: boolean;
  /** How often each pair is measured. */
  readonly repeats: number;
  /** Told what happens meanwhile. */
  readonly progress: (line: string) => void;
}

/** A benchmark: one file per claim. */
export type Benchmark = (scale: Scale) => Promise<Figure>;

/** The value below which a share of all values lies; `share` 0.5 is the median. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const [low, high] = [Math.floor(position), Math.ceil(position)];
  const [below = NaN, above = NaN] = [sorted[low], sorted[high]];
  return below + (above - below) * (position - low);
}

/** The middle value. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Rounds to three digits that matter, so that nobody reads more into a figure than is there. */
export function rounded(value: number): number {
  return Number(value.toPrecision(Math.abs(value) >= 100 ? 4 : 3));
}
