/**
 * A real nats-server for tests: found or fetched, started in milliseconds, killed and restarted at
 * will, and gone when the test is over.
 *
 * Only Node's built-in modules are used, so it works in Deno and in Node alike. There are two
 * versions to test against: `"newest"`, and `"floor"`, the oldest that is supported.
 *
 * @example One server for a test
 * ```ts
 * import { startNatsServer } from "@trellis/jobs/testing";
 *
 * await using server = await startNatsServer();
 * // Connect to server.url, then see what a crash does.
 * await server.kill();
 * await server.restart();
 * ```
 *
 * @module
 */

export { type NatsCluster, type NatsClusterOptions, startNatsCluster } from "./cluster.ts";
export {
  findNatsServer,
  type FindNatsServerOptions,
  type FoundNatsServer,
} from "./find_nats_server.ts";
export type { NatsServer } from "./nats_server.ts";
export { type NatsServerOptions, startNatsServer } from "./server.ts";
export type { NatsServerVersion } from "./_versions.ts";
