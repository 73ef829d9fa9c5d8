/**
 * Trellis Jobs: background jobs for TypeScript services on NATS JetStream.
 *
 * This module joins the rooms into what a service author uses. The rooms themselves are entries of
 * their own: `@trellis/jobs/protocol`, `@trellis/jobs/nats`, `@trellis/jobs/keys`,
 * `@trellis/jobs/testing`.
 *
 * @example A service
 * ```ts ignore
 * import { z } from "zod";
 * import { connectService, defineJobs } from "@trellis/jobs";
 *
 * const billing = defineJobs("billing", {
 *   chargeCard: {
 *     payload: z.object({ orderId: z.string() }),
 *     result: z.object({ chargeId: z.string() }),
 *   },
 * });
 *
 * await using service = await connectService(billing).orThrow();
 * service.jobs.chargeCard.handle(({ job }) => ({ chargeId: `charge-of-${job.payload.orderId}` }));
 * await service.start().orThrow();
 *
 * const ref = await service.jobs.chargeCard.create({ orderId: "o-1" }).orThrow();
 * const finished = await ref.wait().orThrow();
 * ```
 *
 * @module
 */

import { type ConnectService, connectServiceWith } from "./jobs/mod.ts";
import { openQueueKeys } from "./keys/mod.ts";

/** Connects a service to NATS and, unless told not to, makes the streams that are missing. */
export const connectService: ConnectService = connectServiceWith({ openKeys: openQueueKeys });

export * from "./jobs/mod.ts";
export {
  type Connection,
  connectNats,
  type ConnectOptions,
  provision,
  type ProvisionFailure,
  type ProvisionOptions,
  type ProvisionReport,
} from "./nats/mod.ts";
export * from "./protocol/mod.ts";
