/** Measures ours beside raw: interleaved, so that a noisy machine is noisy for both. */

import { type Figure, median, rounded, type Scale } from "./_figures.ts";

/** Measures one side once; `round` is a fresh number each time, to make fresh names of. */
export type Measure = (round: number) => Promise<number>;

/** Two ways of doing the same. */
export interface Contest {
  /** The benchmark. */
  readonly name: string;
  /** What is counted. */
  readonly unit: string;
  /** `rate`: more is better; `time`: less is better. */
  readonly kind: "rate" | "time";
  /** The library. */
  readonly ours: Measure;
  /** The hand-written loop. */
  readonly raw: Measure;
}

/**
 * Runs both once to warm up, then pair after pair; each pair gives a ratio, and the median of those
 * counts. Who goes first alternates, so that neither always pays for the other's garbage.
 */
export async function compare(contest: Contest, scale: Scale): Promise<Figure> {
  const ours: number[] = [];
  const raw: number[] = [];
  const ratios: number[] = [];
  await contest.ours(0);
  await contest.raw(0);
  for (let round = 1; round <= scale.repeats; round++) {
    const pair = round % 2 === 1
      ? { ours: await contest.ours(round), raw: await contest.raw(round) }
      : swapped(await contest.raw(round), await contest.ours(round));
    const ratio = contest.kind === "rate" ? pair.ours / pair.raw : pair.raw / pair.ours;
    ours.push(pair.ours);
    raw.push(pair.raw);
    ratios.push(ratio);
    const { name, unit } = contest;
    const [left, right] = [rounded(pair.ours), rounded(pair.raw)];
    scale.progress(
      `${name} ${round}/${scale.repeats}: ours ${left}, raw ${right} ${unit}, ${ratio.toFixed(2)}`,
    );
  }
  return {
    name: contest.name,
    ours: rounded(median(ours)),
    raw: rounded(median(raw)),
    ratio: rounded(median(ratios)),
    range: [rounded(Math.min(...ratios)), rounded(Math.max(...ratios))],
    unit: contest.unit,
  };
}

function swapped(raw: number, ours: number): { ours: number; raw: number } {
  return { ours, raw };
}
