/** Claim: a running handler hears of its job's cancel within milliseconds. */

import { type Figure, quantile, rounded, type Scale } from "./_figures.ts";
import { payloadOf, startWorld } from "./_world.ts";

/** From the call of cancel to the abort of the handler's signal. */
export async function cancel(scale: Scale): Promise<Figure> {
  const samples = scale.quick ? 30 : 500;
  await using world = await startWorld();
  await using service = await world.ours("bench", 1);
  let started: () => void = () => {};
  let aborted: (at: number) => void = () => {};
  service.jobs.noop.handle(({ signal }) =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => {
        aborted(performance.now());
        resolve();
      });
      started();
    })
  );
  await service.start().orThrow();
  const times: number[] = [];
  for (let index = 0; index < samples; index++) {
    const running = new Promise<void>((resolve) => started = resolve);
    const end = new Promise<number>((resolve) => aborted = resolve);
    const ref = await service.jobs.noop.create(payloadOf(index)).orThrow();
    await running;
    const begunAt = performance.now();
    const cancelled = ref.cancel().orThrow();
    times.push(await end - begunAt);
    await cancelled;
  }
  const warm = times.slice(Math.floor(samples / 10));
  const [p50, p95] = [quantile(warm, 0.5), quantile(warm, 0.95)];
  scale.progress(`cancel: p50 ${p50.toFixed(2)} ms, p95 ${p95.toFixed(2)} ms`);
  return {
    name: "cancel",
    ours: rounded(p50),
    raw: null,
    ratio: null,
    range: null,
    unit: "ms p50",
    note: `p95 ${rounded(p95)} ms`,
  };
}
