/**
 * Who asks, and what they may do.
 *
 * @module
 */

import { err, ok, type Result } from "../protocol/mod.ts";
import { AdminError } from "./errors.ts";

/** Every capability: to look, to change, to listen. */
export const CAPABILITIES = ["admin.read", "admin.mutate", "admin.stream"] as const;

/** What somebody may do. */
export type Capability = typeof CAPABILITIES[number];

/** Somebody who asks. */
export interface Identity {
  /** Who; it is recorded on what they cause. */
  readonly actor: string;
  /** What they may do. */
  readonly capabilities: readonly Capability[];
}

/**
 * Refuses who may not do something.
 *
 * @example
 * ```ts
 * import { permit } from "./identity.ts";
 * import assert from "node:assert/strict";
 *
 * const ann = { actor: "ann", capabilities: ["admin.read"] } as const;
 * assert.equal(permit(ann, "admin.read").ok, true);
 * assert.equal(permit(ann, "admin.mutate").ok, false);
 * ```
 */
export function permit(
  { actor, capabilities }: Identity,
  needed: Capability,
): Result<void, AdminError> {
  if (capabilities.includes(needed)) return ok(undefined);
  const message = `Cannot do this: ${actor} has no ${needed}`;
  return err(new AdminError("forbidden", message, { reason: needed }));
}
