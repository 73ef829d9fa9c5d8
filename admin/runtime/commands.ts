/**
 * The commands of `jobs/`, with the place of the event that each one stored.
 *
 * @module
 */

import {
  type CommandError,
  type Commands,
  createCommands,
  type Lifecycle,
} from "../../jobs/mod.ts";
import { type AsyncResult, err, type Job, ok } from "../../protocol/mod.ts";
import type { CommandAnswer, JobCommands } from "../ports.ts";

/** Makes commands that tell where their event is, so that one can wait for the projection. */
export function createJobCommands(lifecycle: Lifecycle): JobCommands {
  return {
    cancel: (job, options) => sequenced(lifecycle, (commands) => commands.cancel(job, options)),
    retry: (job, options) => sequenced(lifecycle, (commands) => commands.retry(job, options)),
    replay: (job, options) => sequenced(lifecycle, (commands) => commands.replay(job, options)),
    dismiss: (job, options) => sequenced(lifecycle, (commands) => commands.dismiss(job, options)),
  };
}

async function sequenced(
  lifecycle: Lifecycle,
  run: (commands: Commands) => AsyncResult<Job, CommandError>,
): CommandAnswer {
  let sequence = 0;
  const commands = createCommands({
    ...lifecycle,
    async write(event, options) {
      const outcome = await lifecycle.write(event, options);
      if (outcome.kind === "stored") sequence = outcome.sequence;
      return outcome;
    },
  });
  const done = await run(commands);
  return done.ok ? ok({ job: done.value, sequence }) : err(done.error);
}
