/**
 * Lists of jobs, and single ones.
 *
 * @module
 */

import { joinJob } from "../../projection/job_row.ts";
import type { JobDocuments, JobRow, ProjectedJob, ProjectionReader } from "../../projection/mod.ts";
import { err, ok, type Result } from "../../protocol/mod.ts";
import { AdminError } from "../errors.ts";
import type {
  EventsRequest,
  EventsResponse,
  GetResponse,
  JobRequest,
  ListDLQRequest,
  ListedJob,
  ListRequest,
  ListResponse,
} from "../messages/jobs.ts";
import { DEEPEST_OFFSET } from "../messages/fields.ts";
import type { CallContext } from "../procedure.ts";

/** Documents are read so many at once, and no further than the answer has room. */
const DOCUMENTS_AT_ONCE = 25;

/** Lists jobs that match, those that changed last first. */
export async function listJobs(
  { documents = true, cursor, offset = 0, since, ...request }: ListRequest,
  { ports: { store }, maxReplyBytes }: CallContext,
): Promise<Result<ListResponse, AdminError>> {
  if (cursor !== undefined && offset > 0) {
    const message = `Cannot list jobs: a cursor came with the offset ${offset}, give one of them`;
    return err(new AdminError("validation", message, { field: "cursor" }));
  }
  const { entries, count, nextCursor } = await store.listJobs({
    ...request,
    ...(cursor === undefined ? { offset } : { cursor }),
    // Rows are compared by the server's own form of an instant.
    ...(since !== undefined && { since: new Date(since).toISOString() }),
  });
  const next = offset + entries.length;
  const more = cursor === undefined && nextCursor !== undefined && next <= DEEPEST_OFFSET;
  return ok({
    entries: documents
      ? await withDocuments(store, entries, maxReplyBytes)
      : entries.map(withoutDocuments),
    count,
    offset,
    limit: request.limit,
    ...(more && { nextOffset: next }),
    ...(nextCursor !== undefined && { nextCursor }),
  });
}

/** Lists dead jobs: those that wait for an operator. */
export function listDLQ(
  request: ListDLQRequest,
  context: CallContext,
): Promise<Result<ListResponse, AdminError>> {
  return listJobs({ ...request, state: ["dead"] }, context);
}

/** Gives one whole job. */
export async function getJob(
  { id }: JobRequest,
  { ports }: CallContext,
): Promise<Result<GetResponse, AdminError>> {
  const found = await findJob(ports.store, "get", id);
  if (!found.ok) return found;
  const { job, droppedLogs, lastSequence } = found.value;
  return ok({ job, droppedLogs, lastSequence });
}

/** Gives part of a job's history. */
export async function getEvents(
  { id, fromSequence, limit = 100 }: EventsRequest,
  { ports }: CallContext,
): Promise<Result<EventsResponse, AdminError>> {
  const found = await findJob(ports.store, "read the events of", id);
  if (!found.ok) return found;
  const from = fromSequence === undefined ? {} : { fromSequence };
  try {
    return ok(await ports.history(found.value, { ...from, limit }));
  } catch {
    const message = `Cannot read the events of job ${id}: the server does not answer, try again`;
    return err(new AdminError("unavailable", message));
  }
}

/** Finds a job by its id, or says that there is none. */
export async function findJob(
  store: Pick<ProjectionReader, "getJob">,
  verb: string,
  id: string,
): Promise<Result<ProjectedJob, AdminError>> {
  const found = await store.getJob(id);
  if (found !== undefined) return ok(found);
  return err(new AdminError("not_found", `Cannot ${verb} job ${id}: there is none`));
}

function withoutDocuments({ summary }: JobRow): ListedJob {
  return { ...summary, documentsOmitted: true };
}

function joined(row: JobRow, documents: JobDocuments): ListedJob {
  return joinJob(row, documents).job;
}

async function withDocuments(
  store: ProjectionReader,
  rows: readonly JobRow[],
  maxReplyBytes: number,
): Promise<ListedJob[]> {
  const listed: ListedJob[] = [];
  let left = maxReplyBytes - JSON.stringify(rows).length;
  for (let at = 0; at < rows.length; at += DOCUMENTS_AT_ONCE) {
    const some = rows.slice(at, at + DOCUMENTS_AT_ONCE);
    const documents = left > 0
      ? await store.readDocuments(some.map(({ summary }) => summary.id))
      : [];
    for (const [index, row] of some.entries()) {
      const whole = documents[index] ?? undefined;
      left -= JSON.stringify(whole)?.length ?? 0;
      listed.push(whole === undefined || left <= 0 ? withoutDocuments(row) : joined(row, whole));
    }
  }
  return listed;
}
