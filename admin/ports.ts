/**
 * What the procedures need of the rest of the system. Nothing of it is a transport, a file or a
 * socket, so they run wherever somebody can provide these: on a server, or at the edge.
 *
 * @module
 */

import type { CommandError, CommandOptions, RetryOptions } from "../jobs/mod.ts";
import type { KeyState } from "../keys/mod.ts";
import type { HistoryOptions, HistoryPage, JobRow, ProjectionReader } from "../projection/mod.ts";
import type { Job, JobAddress, QueueAddress, QueueDeclaration, Result } from "../protocol/mod.ts";
import type { AdminError } from "./errors.ts";
import type { HealthResponse } from "./messages/health.ts";
import type { SequencedEventAnswer } from "./messages/jobs.ts";
import type { QueueWork } from "./messages/queues.ts";

/** A command that was stored. */
export interface Commanded {
  /** The job after it. */
  readonly job: Job;
  /** Place of its event in the stream. */
  readonly sequence: number;
}

/** What a command comes to. */
export type CommandAnswer = Promise<Result<Commanded, CommandError>>;

/** Steering a job: each is one guarded write. */
export interface JobCommands {
  /** Ends a waiting or running job. */
  cancel(job: JobAddress, options: CommandOptions): CommandAnswer;
  /** Puts a failed job back to work. */
  retry(job: JobAddress, options: RetryOptions): CommandAnswer;
  /** Puts a dead job back to work. */
  replay(job: JobAddress, options: RetryOptions): CommandAnswer;
  /** Closes a dead job. */
  dismiss(job: JobAddress, options: CommandOptions): CommandAnswer;
}

/** Keys as coordination has them. */
export interface KeyPort {
  /** Reads a key; `undefined` when nobody holds it or waits for it. */
  read(queue: QueueAddress, keyHash: string): Promise<Result<KeyState | undefined, AdminError>>;
  /** Takes a key from its holders, or from one of them; gives the jobs that it was taken from. */
  release(release: KeyRelease): Promise<Result<readonly string[], AdminError>>;
}

/** A key to be taken from its holders. */
export interface KeyRelease {
  /** The queue. */
  readonly queue: QueueAddress;
  /** The key as it was read. */
  readonly state: KeyState;
  /** From this job only. */
  readonly jobId?: string;
  /** Who does it. */
  readonly actor: string;
}

/** Queues as services declared them and as the server has them. */
export interface QueuePort {
  /** All that was declared; what cannot be read is left out. */
  declared(): Promise<readonly QueueDeclaration[]>;
  /** What the server says of a queue's work; `undefined` when no worker has ever begun on it. */
  work(queue: QueueAddress): Promise<QueueWork | undefined>;
  /** Pauses a queue until an instant, or resumes it. */
  pause(queue: QueueAddress, until: string | undefined): Promise<Result<QueueWork, AdminError>>;
}

/** Which events are listened to. */
export interface WatchOptions {
  /** Events of this service. */
  readonly service?: string;
  /** Events of this type. */
  readonly type?: string;
  /** Events of this job. */
  readonly job?: JobAddress;
  /** The first place to read; what is stored from now on when left out. */
  readonly fromSequence?: number;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** Everything that the procedures need. */
export interface AdminPorts {
  /** The rows. */
  readonly store: ProjectionReader;
  /** The commands. */
  readonly jobs: JobCommands;
  /** Resolves with `true` when a place is in the rows, with `false` when that takes too long. */
  readonly projected: (sequence: number) => Promise<boolean>;
  /** Reads a job's events. Rejects when the server does not answer. */
  readonly history: (row: JobRow, options: HistoryOptions) => Promise<HistoryPage>;
  /** Removes a finished job from the stream and the rows; `false` when something newer is known. */
  readonly purge: (row: JobRow) => Promise<boolean>;
  /** The keys. */
  readonly keys: KeyPort;
  /** The queues. */
  readonly queues: QueuePort;
  /** Events as they are stored, through reconnects. */
  readonly watch: (options: WatchOptions) => AsyncIterable<SequencedEventAnswer>;
  /** Tells how the admin is doing. */
  readonly health: () => Promise<HealthResponse>;
  /** The present instant. */
  readonly clock: () => number;
}
