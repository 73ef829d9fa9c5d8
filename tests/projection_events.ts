/** Streams for property tests: histories of several jobs, interleaved, with gaps between places. */

import fc from "fast-check";
import { fold, type Job, type JobEvent } from "../protocol/mod.ts";
import type { StoredEvent } from "../projection/mod.ts";
import { arbitraryHistory } from "./arbitrary_events.ts";

/** Any stream of a few jobs; sometimes a job comes under an id that another one has. */
export const arbitraryStream: fc.Arbitrary<StoredEvent[]> = fc.record({
  histories: fc.array(arbitraryHistory, { minLength: 1, maxLength: 5 }),
  sharedId: fc.boolean(),
  turns: fc.array(fc.nat({ max: 4 }), { maxLength: 80 }),
  strides: fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 8 }),
}).map(({ histories, sharedId, turns, strides }) => {
  const first = histories[0]?.[0]?.jobId ?? "";
  const left = histories.map((history, index) =>
    index === 1 && sharedId ? history.map((event) => ({ ...event, jobId: first })) : [...history]
  );
  const order: JobEvent[] = [];
  for (const turn of turns) order.push(...left[turn % left.length]?.splice(0, 1) ?? []);
  for (const history of left) order.push(...history);
  let sequence = 0;
  return order.map((event, index) => {
    sequence += strides[index % strides.length] ?? 1;
    return { event, sequence, storedAt: new Date(1_700_000_000_000 + sequence).toISOString() };
  });
});

/** What protocol's fold makes of a stream, by job id. */
export function foldStream(stream: readonly StoredEvent[]): Map<string, Job> {
  const byId = new Map<string, JobEvent[]>();
  for (const { event } of stream) {
    byId.set(event.jobId, [...byId.get(event.jobId) ?? [], event]);
  }
  return new Map([...byId].flatMap(([id, events]) => {
    const job = fold(events);
    return job === undefined ? [] : [[id, job] as const];
  }));
}

/** A job of which only the newest log lines are kept, as the projection keeps it. */
export function keepingLogs(
  { logs, ...job }: Job,
  keep: number,
): { job: Job; droppedLogs: number } {
  if (logs === undefined) return { job, droppedLogs: 0 };
  const droppedLogs = Math.max(0, logs.length - keep);
  return { job: { ...job, logs: logs.slice(droppedLogs) }, droppedLogs };
}
