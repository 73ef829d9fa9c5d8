/** Workers. */

import type { WorkerPresence, WorkerQuery } from "../presence_row.ts";
import { instant, text } from "./_columns.ts";
import type { Database } from "./_database.ts";

const SAVE =
  `INSERT INTO worker_presence_projection (service, type, instance_id, seen_at, heartbeat)
  VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE
  SET seen_at = excluded.seen_at, heartbeat = excluded.heartbeat WHERE excluded.seen_at >= seen_at`;
const FORGET = "DELETE FROM worker_presence_projection WHERE seen_at < ?1";
const LIST = `SELECT seen_at, heartbeat FROM worker_presence_projection
  WHERE seen_at >= ?1 AND (?2 IS NULL OR service = ?2) ORDER BY service, type, instance_id`;

/** Keeps what is newer than what is known. */
export function saveWorkers(
  db: Database,
  seen: readonly WorkerPresence[],
  forgetBefore: string,
): void {
  db.writing(() => {
    for (const { heartbeat, seenAt } of seen) {
      const { service, jobType, instanceId } = heartbeat;
      db.run(SAVE, service, jobType, instanceId, Date.parse(seenAt), JSON.stringify(heartbeat));
    }
    db.run(FORGET, Date.parse(forgetBefore));
  });
}

/** Gives workers by service, queue and instance. */
export function listWorkers(db: Database, { service, seenSince }: WorkerQuery): WorkerPresence[] {
  const since = seenSince === undefined ? 0 : Date.parse(seenSince);
  return db.all(LIST, since, service ?? null).map((row) => ({
    heartbeat: JSON.parse(text(row["heartbeat"])),
    seenAt: instant(row["seen_at"]),
  }));
}
