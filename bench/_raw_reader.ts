/**
 * The hand-written reader: pulls everything from the stream and decodes it, and does nothing else.
 *
 * The next request is sent when half of the last one has come, so that the server never waits.
 */

import type { Connection } from "../nats/mod.ts";
import { decodeEvent, JOBS_STREAM } from "../protocol/mod.ts";

const BATCH = 4_000;

/** Reads and decodes so many events from the beginning of the stream; gives events per second. */
export async function readAndDecode(connection: Connection, count: number): Promise<number> {
  const name = `raw${crypto.randomUUID().replaceAll("-", "")}`;
  const inbox = `_INBOX.${name}`;
  const next = `$JS.API.CONSUMER.MSG.NEXT.${JOBS_STREAM}.${name}`;
  const begunAt = performance.now();
  const config = {
    name,
    ack_policy: "none",
    deliver_policy: "all",
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: 60_000_000_000,
  };
  const create = `$JS.API.CONSUMER.CREATE.${JOBS_STREAM}.${name}`;
  const body = JSON.stringify({ stream_name: JOBS_STREAM, config, action: "create" });
  await connection.request(create, body, { timeout: 10_000 });
  let seen = 0;
  await new Promise<void>((resolve, reject) => {
    const pull = () =>
      connection.publish(next, `{"batch":${BATCH},"expires":30000000000}`, { reply: inbox });
    const subscription = connection.subscribe(inbox, {
      callback(_error, message) {
        if (message.reply === undefined || message.reply === "") return;
        const decoded = decodeEvent(message.subject, message.data, message.headers);
        if (!decoded.ok) return reject(new Error(decoded.error.message));
        seen++;
        if (seen % BATCH === BATCH / 2) pull();
        if (seen < count) return;
        subscription.unsubscribe();
        resolve();
      },
    });
    pull();
  });
  return count / ((performance.now() - begunAt) / 1_000);
}
