/** Who runs now, asked of one place by handlers in many processes. */

import { z } from "zod";
import type { Connection } from "../mod.ts";

const SUBJECT = "test.referee.";
const entrySchema = z.object({
  service: z.string(),
  key: z.string(),
  instanceId: z.string(),
  jobId: z.string(),
});
/** One run of a handler. */
export type Entry = z.output<typeof entrySchema>;

/** What the referee saw. */
export interface Referee extends Disposable {
  /** The most that ran at once, of any key of a service. */
  most(service: string): number;
  /** A process is dead: what it ran does not run any more. */
  forget(instanceId: string): void;
}

/** Begins to watch. */
export function openReferee(connection: Connection): Referee {
  const running = new Map<string, Entry[]>();
  const most = new Map<string, number>();
  const subscription = connection.subscribe(`${SUBJECT}*`, {
    callback(error, message) {
      if (error !== null) throw error;
      const entry = entrySchema.parse(JSON.parse(new TextDecoder().decode(message.data)));
      const { service } = entry;
      const key = `${service}:${entry.key}`;
      const others = running.get(key) ?? [];
      if (message.subject.endsWith("enter")) {
        running.set(key, [...others, entry]);
        most.set(service, Math.max(most.get(service) ?? 0, others.length + 1));
      } else {
        running.set(key, others.filter(({ jobId }) => jobId !== entry.jobId));
      }
      if (message.reply !== undefined) connection.publish(message.reply, "ok");
    },
  });
  return {
    most: (service) => most.get(service) ?? 0,
    forget(instanceId) {
      for (const [key, entries] of running) {
        running.set(key, entries.filter((entry) => entry.instanceId !== instanceId));
      }
    },
    [Symbol.dispose]: () => subscription.unsubscribe(),
  };
}

/** Runs a handler's work between telling the referee that it begins and that it ends. */
export async function refereed<Value>(
  connection: Connection,
  entry: Entry,
  work: () => Promise<Value>,
): Promise<Value> {
  const body = JSON.stringify(entry);
  await connection.request(`${SUBJECT}enter`, body, { timeout: 10_000 });
  try {
    return await work();
  } finally {
    await connection.request(`${SUBJECT}leave`, body, { timeout: 10_000 });
  }
}
