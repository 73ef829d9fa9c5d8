/**
 * What is wrong, told from how everything is doing.
 *
 * @module
 */

import type { HealthResponse } from "../messages/health.ts";

/** How everything is doing, before it is judged. */
export type Standing = Omit<HealthResponse, "status" | "problems">;

/** Events that may be missing from the lists before that is worth a word. */
const MUCH_LAG = 10_000;

/**
 * Judges how everything is doing.
 *
 * @example
 * ```ts
 * import { judgeHealth } from "./health.ts";
 * import assert from "node:assert/strict";
 *
 * const standing = {
 *   instanceId: "a",
 *   role: "owner",
 *   startedAt: "2026-01-01T00:00:00.000Z",
 *   server: { connected: true, version: "2.15.1" },
 *   projection: { state: "live", sequence: 1, lag: 0, skipped: {} },
 *   loops: { janitor: { state: "failing", failures: 1, lastError: "no answer" } },
 * } as const;
 * assert.deepEqual(judgeHealth(standing).problems, ["janitor is failing: no answer"]);
 * ```
 */
export function judgeHealth(standing: Standing): HealthResponse {
  const { server, projection, loops } = standing;
  const problems: string[] = [];
  if (!server.connected) problems.push("there is no connection to NATS");
  if (projection.state === "failing") {
    problems.push(`the projection is failing: ${projection.lastError ?? "for no stated reason"}`);
  } else if (projection.state === "rebuilding") {
    const to = projection.rebuild?.to ?? 0;
    problems.push(`the projection is being rebuilt: ${projection.sequence} of ${to}`);
  } else if ((projection.lag ?? 0) > MUCH_LAG) {
    problems.push(`the projection is ${projection.lag} events behind`);
  }
  for (const [name, { state, lastError }] of Object.entries(loops)) {
    if (state === "failing") problems.push(`${name} is failing: ${lastError ?? ""}`);
    if (state === "stalled") problems.push(`${name}: ${lastError ?? ""}`);
  }
  return { ...standing, problems, status: problems.length === 0 ? "ok" : "degraded" };
}
