/** World tests run against real servers: one test per server version, each with a server of its own. */

import { type NatsServer, startNatsServer } from "../testing/mod.ts";

/** Both ends of what is supported. */
export const VERSIONS = ["newest", "floor"] as const;

/** Registers a test for each server version; the server is stopped also when the test fails. */
export function testOnBothServers(name: string, run: (server: NatsServer) => Promise<void>): void {
  for (const version of VERSIONS) {
    Deno.test(`${name} [${version}]`, async () => {
      await using server = await startNatsServer({ version });
      await run(server);
    });
  }
}

/** Registers a test of the long tier: `deno task test:long` runs it, the quick tier shows it as ignored. */
export function longTest(name: string, run: () => Promise<void>): void {
  Deno.test({ name, ignore: Deno.env.get("TRELLIS_LONG") === undefined, fn: run });
}
