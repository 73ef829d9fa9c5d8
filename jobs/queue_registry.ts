/**
 * The record of what a service has declared, where the admin can read it; a change that could hurt
 * work under way is refused unless it is allowed.
 *
 * @module
 */

import { type Connection, type Publisher, readEntry, writeEntry } from "../nats/mod.ts";
import {
  classifyQueueChange,
  decodeQueueRecord,
  encodeJson,
  err,
  JobsError,
  META_BUCKET,
  ok,
  type QueueChangeReason,
  type QueueDeclaration,
  queueRegistryKey,
  type Result,
} from "../protocol/mod.ts";

/** Why a declaration is not recorded. */
export type RegistryFailure = "migration" | "registry-unreadable" | "unavailable";

/** A change of declarations that is not allowed, with every reason. */
export class MigrationError extends JobsError<RegistryFailure> {
  /** What changes, by queue. */
  readonly reasons: readonly QueueReason[];

  /** Makes the error from the reasons. */
  constructor(service: string, reasons: readonly QueueReason[]) {
    const list = reasons.map(({ queue, message }) => `${queue}: ${message}`).join("; ");
    super(
      "migration",
      `Cannot start ${service}: its queues changed in a way that can hurt work under way (${list}); ` +
        "set allowMigration to accept it",
    );
    this.name = "MigrationError";
    this.reasons = reasons;
  }
}

/** One reason, and the queue it is about. */
export interface QueueReason extends QueueChangeReason {
  /** The queue. */
  readonly queue: string;
}

/** What recording needs. */
export interface RegistryOptions {
  /** The connection. */
  readonly connection: Connection;
  /** Where writes go. */
  readonly publisher: Publisher;
  /** The service. */
  readonly service: string;
  /** Its queues as declared now. */
  readonly declarations: readonly QueueDeclaration[];
  /** Queues whose migration is allowed; all with `true`. */
  readonly allowMigration: boolean | readonly string[];
}

const BUDGET_MS = 15_000;

/** Records the declarations of a service, or says why not. */
export async function recordQueues(
  options: RegistryOptions,
): Promise<Result<void, JobsError<RegistryFailure>>> {
  const { connection, publisher, service, declarations } = options;
  const key = queueRegistryKey(service);
  const giveUpAt = Date.now() + BUDGET_MS;
  for (;;) {
    const entry = await readEntry(connection, META_BUCKET, key, { giveUpAt }).catch(() =>
      undefined
    );
    if (entry === undefined) return err(unavailable(service));
    const recorded = decodeQueueRecord(entry.value);
    if (!recorded.ok) {
      const message =
        `Cannot start ${service}: its recorded queues are not readable, ${recorded.error}`;
      return err(new JobsError("registry-unreadable", message));
    }
    const reasons = changes(recorded.value, declarations);
    if (reasons.length === 0 && entry.revision > 0) return ok(undefined);
    const refused = reasons.filter((reason) => !isAllowed(reason, options.allowMigration));
    if (refused.length > 0) return err(new MigrationError(service, refused));
    const encoded = encodeJson({ version: 1, queues: declarations });
    if (!encoded.ok) throw new TypeError(`Cannot record the queues: ${encoded.error.message}`);
    const written = await writeEntry(publisher, META_BUCKET, key, encoded.value, entry.revision);
    if (written.kind === "stored") return ok(undefined);
    if (written.kind === "refused" || Date.now() >= giveUpAt) return err(unavailable(service));
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 80));
  }
}

function changes(
  before: readonly QueueDeclaration[],
  after: readonly QueueDeclaration[],
): QueueReason[] {
  const names = new Set([...before, ...after].map(({ jobType }) => jobType));
  const find = (list: readonly QueueDeclaration[], name: string) =>
    list.find(({ jobType }) => jobType === name);
  return [...names].flatMap((queue) =>
    classifyQueueChange(find(before, queue), find(after, queue)).reasons
      .map((reason) => ({ ...reason, queue }))
  );
}

function isAllowed(reason: QueueReason, allowed: boolean | readonly string[]): boolean {
  if (reason.kind === "update") return true;
  return typeof allowed === "boolean" ? allowed : allowed.includes(reason.queue);
}

function unavailable(service: string): JobsError<"unavailable"> {
  return new JobsError(
    "unavailable",
    `Cannot start ${service}: its queues cannot be recorded in ${META_BUCKET}, run provision and ` +
      "check the permissions",
  );
}
