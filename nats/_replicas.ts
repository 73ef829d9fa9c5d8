/** How many replicas the streams get when nobody said. */

import { z } from "zod";
import type { Connection } from "./connection.ts";
import { readJson } from "./js_api.ts";

/** A server's report on its JetStream, as far as it counts peers. */
const jszSchema = z.object({
  data: z.object({
    meta_cluster: z.object({
      leader: z.string().default(""),
      replicas: z.array(z.object({ current: z.boolean().default(false) })).default([]),
    }).optional(),
  }),
});

/**
 * Asks all servers, through a connection of the system account, how many JetStream peers are
 * current. The meta leader knows; a server without clustering counts as one.
 */
export async function countCurrentPeers(system: Connection): Promise<number> {
  let peers = 1;
  const answers = await system.requestMany("$SYS.REQ.SERVER.PING.JSZ", "{}", {
    strategy: "stall",
    maxWait: 2_000,
    stall: 300,
  });
  for await (const answer of answers) {
    const read = jszSchema.safeParse(readJson(answer));
    const meta = read.success ? read.data.data.meta_cluster : undefined;
    // Only the leader lists its followers; the leader itself is not among them.
    const followers = meta?.replicas.filter((replica) => replica.current).length ?? 0;
    peers = Math.max(peers, followers + 1);
  }
  return peers;
}
