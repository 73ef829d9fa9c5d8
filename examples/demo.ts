/**
 * The demo: a real server, its streams, and the life of one job as events, folded and printed.
 *
 * `deno task demo`; `--seconds N` keeps publishing jobs for that long (3 by default).
 */

import { parseArgs } from "node:util";
import process from "node:process";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { provision } from "../nats/mod.ts";
import {
  fold,
  type JobEvent,
  JOBS_STREAM,
  type JobState,
  reduce,
  WORK_STREAM,
} from "../protocol/mod.ts";
import { startNatsServer } from "../testing/mod.ts";
import { publishEvent, readJobEvents, readMessageCount, storyOfOneJob } from "./_demo_story.ts";

const HELP = `Usage: deno task demo [--seconds N]

Starts a nats-server of its own, makes the streams, publishes the events of jobs and shows what
they fold to. Ends by itself after N seconds (3 unless given); nothing is left behind.`;

function readArguments(): { seconds: string; help?: boolean } {
  try {
    return parseArgs({
      options: { seconds: { type: "string", default: "3" }, help: { type: "boolean", short: "h" } },
    }).values;
  } catch (cause) {
    const said = cause instanceof Error ? cause.message : String(cause);
    throw new TypeError(`Cannot run the demo: ${said}\n\n${HELP}`);
  }
}

function readSeconds(): number | undefined {
  const values = readArguments();
  if (values.help === true) return undefined;
  const seconds = values.seconds.trim() === "" ? NaN : Number(values.seconds);
  if (Number.isFinite(seconds) && seconds >= 0 && seconds <= 86_400) return seconds;
  throw new RangeError(`Cannot run the demo: --seconds is ${values.seconds}, not from 0 to 86400`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function demo(seconds: number): Promise<void> {
  await using server = await startNatsServer();
  say(`nats-server ${server.version} listens on ${server.url}`);
  await using connection = await connect({ servers: server.url });
  const report = await provision(connection).orThrow();
  say(`streams: ${report.streams.map(({ name, action }) => `${name} ${action}`).join(", ")}`);

  say("\nThe life of one job, as events:");
  const story = storyOfOneJob();
  for (const event of story) {
    await publishEvent(connection, event);
    say(`  ${event.timestamp}  ${event.eventType.padEnd(10)} → ${event.state}`);
  }
  const stored = await readJobEvents(connection, story);
  say(`\nRead back from ${JOBS_STREAM} and folded:`);
  say(JSON.stringify(fold(stored), null, 2));

  const states = await publishSteadily(connection, seconds);
  const work = await readMessageCount(connection, WORK_STREAM);
  say(
    `\n${work} ${
      work === 1 ? "job waits" : "jobs wait"
    } in ${WORK_STREAM} (every created event is sourced into it).`,
  );
  say(JSON.stringify(states));
}

/** Publishes one life after the other until the time is up, and counts where they end. */
async function publishSteadily(
  connection: NatsConnection,
  seconds: number,
): Promise<Partial<Record<JobState, number>>> {
  const states: Partial<Record<JobState, number>> = {};
  const endsAt = performance.now() + seconds * 1_000;
  while (performance.now() < endsAt) {
    const events: readonly JobEvent[] = storyOfOneJob();
    let job: ReturnType<typeof fold>;
    for (const event of events) {
      await publishEvent(connection, event);
      job = reduce(job, event);
    }
    if (job !== undefined) states[job.state] = (states[job.state] ?? 0) + 1;
  }
  return states;
}

try {
  const seconds = readSeconds();
  if (seconds === undefined) say(HELP);
  else await demo(seconds);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
