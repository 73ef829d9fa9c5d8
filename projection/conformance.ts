/**
 * What every store must do: one suite, to be run by whoever writes another one.
 *
 * An entry of its own, `@trellis/jobs/projection/conformance`, because it uses `node:assert`.
 *
 * @example
 * ```ts
 * import { storeConformance } from "./conformance.ts";
 * import { openSqliteStore } from "./sqlite/mod.ts";
 *
 * for (const check of storeConformance()) {
 *   await using store = openSqliteStore({ path: ":memory:" });
 *   await check.run(store); // or one test each: Deno.test(check.name, …)
 * }
 * ```
 *
 * @module
 */

import { listChecks } from "./_conformance_lists.ts";
import { searchChecks } from "./_conformance_searches.ts";
import { writeChecks } from "./_conformance_writes.ts";
import type { ProjectionStore } from "./store.ts";

/** One thing that a store must do. */
export interface StoreCheck {
  /** What it must do, as a sentence. */
  readonly name: string;
  /** Does it with an empty store; throws when the store does otherwise. */
  readonly run: (store: ProjectionStore) => Promise<void>;
}

/** Gives the checks. Each wants an empty store of its own and leaves it filled. */
export function storeConformance(): readonly StoreCheck[] {
  return [...writeChecks, ...listChecks, ...searchChecks];
}
