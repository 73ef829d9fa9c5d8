/**
 * Trellis Jobs: background jobs for TypeScript services on NATS JetStream.
 *
 * This module joins the rooms. What is here today is the foundation: the protocol that every part
 * speaks, and the provisioning of a server.
 *
 * @example Bring a server to the topology
 * ```ts ignore
 * import { connectNats, provision } from "@trellis/jobs";
 *
 * const connection = await connectNats({ servers: "nats://127.0.0.1:4222" });
 * const report = await provision(connection).orThrow();
 * ```
 *
 * @module
 */

export * from "./protocol/mod.ts";
export * from "./nats/mod.ts";
