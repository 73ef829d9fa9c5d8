/** Whole lives of jobs, written straight into the stream: what a projection has to read. */

import { type JobAddress, type JobContext, jobFilter, lifecycleSubject } from "../protocol/mod.ts";
import { rawCompleted, rawCreated, rawJobId, rawStarted } from "./_raw_events.ts";
import type { RawPublisher } from "./_raw_publisher.ts";
import { inFlight, payloadOf } from "./_world.ts";

/** How many jobs are alive at once: some hundred, as with a busy service. */
const ALIVE = 200;

/** Events of one life. */
export const EVENTS_PER_LIFE = 3;

/** Which queue a job belongs to: eight services with four queues each. */
export function queueOf(index: number): { service: string; jobType: string } {
  return { service: `service-${index % 8}`, jobType: `type-${Math.floor(index / 8) % 4}` };
}

/** Writes lives of jobs: created, started, completed, those of many jobs interleaved. */
export async function writeLives(
  publisher: RawPublisher,
  jobs: number,
  progress: (done: number) => void = () => {},
): Promise<void> {
  await inFlight(jobs, ALIVE, async (index) => {
    const job: JobAddress = { ...queueOf(index), jobId: rawJobId() };
    const filter = jobFilter(job);
    const created = rawCreated(job, payloadOf(index));
    const context: JobContext = JSON.parse(new TextDecoder().decode(created.data)).context;
    const one = await publisher.publish(
      lifecycleSubject(job, "created"),
      created.data,
      created.headers,
    );
    const started = rawStarted(job, context, filter, one, "raw-1");
    const two = await publisher.publish(
      lifecycleSubject(job, "started"),
      started.data,
      started.headers,
    );
    const ended = rawCompleted(job, context, filter, two);
    await publisher.publish(lifecycleSubject(job, "completed"), ended.data, ended.headers);
    if (index > 0 && index % 100_000 === 0) progress(index);
  });
}
