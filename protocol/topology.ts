/**
 * What stands on the server, as data: streams, the source between them, buckets, consumers.
 *
 * Fields are named and counted as the server's API has them (snake case, nanoseconds), because
 * drift is found by comparing them with what the server echoes.
 *
 * @module
 */

import type { ServerCapabilities } from "./capabilities.ts";
import type { QueueSettings } from "./queue.ts";
import {
  ADMIN_BUCKET,
  ADVISORIES_STREAM,
  ADVISORY_FILTER,
  bucketStream,
  bucketSubject,
  durableName,
  eventFilter,
  JOBS_STREAM,
  KEYS_BUCKET,
  LIFECYCLE_FILTER,
  META_BUCKET,
  PRESENCE_FILTER,
  type QueueAddress,
  WORK_EVENTS,
  WORK_FILTER,
  WORK_STREAM,
  WORK_TRANSFORM_DESTINATION,
  WORKERS_STREAM,
  workSubject,
} from "./subjects.ts";

/** A stream that another is filled from, and how subjects change on the way. */
export interface SourceTopology {
  /** The stream to read. */
  readonly name: string;
  /** Which messages come over, and under which subject. */
  readonly subject_transforms: readonly { readonly src: string; readonly dest: string }[];
}

/** The configuration of one stream, as far as it matters to us; the rest is the server's default. */
export interface StreamTopology {
  /** Its name. */
  readonly name: string;
  /** A line for people who find it on their server. */
  readonly description: string;
  /** What it takes in. */
  readonly subjects: readonly string[];
  /** Whether messages stay (`limits`) or go when done (`workqueue`). */
  readonly retention: "limits" | "workqueue";
  /** Always on disk. */
  readonly storage: "file";
  /** How many servers keep it. */
  readonly num_replicas: number;
  /** What happens at a limit. */
  readonly discard: "old" | "new";
  /** Whether any replica may answer reads. */
  readonly allow_direct: boolean;
  /** Never: one header would erase other services' history. */
  readonly allow_rollup_hdrs: false;
  /** How long message ids are remembered. */
  readonly duplicate_window: number;
  /** How long messages stay; 0 is for ever. */
  readonly max_age?: number;
  /** How many bytes it may hold; -1 is no limit. */
  readonly max_bytes?: number;
  /** How many messages of one subject stay. */
  readonly max_msgs_per_subject?: number;
  /** Whether all-or-nothing batches are taken. */
  readonly allow_atomic?: true;
  /** Whether single messages can be deleted. */
  readonly deny_delete?: boolean;
  /** Where it is filled from. */
  readonly sources?: readonly SourceTopology[];
}

/** The configuration of a queue's durable consumer. */
export interface ConsumerTopology {
  /** Its name: `<service>-<type>`. */
  readonly durable_name: string;
  /** The queue's work. */
  readonly filter_subject: string;
  /** Each message is acknowledged by itself. */
  readonly ack_policy: "explicit";
  /** How long a silent worker keeps a message. */
  readonly ack_wait: number;
  /** A backstop far above the job's own count of tries. */
  readonly max_deliver: number;
  /** How many messages may be out at once, over all instances. */
  readonly max_ack_pending: number;
  /** From the beginning. */
  readonly deliver_policy: "all";
  /** As fast as asked for. */
  readonly replay_policy: "instant";
}

/** What the topology depends on. */
export interface TopologyOptions {
  /** What the server can do. */
  readonly capabilities: ServerCapabilities;
  /** How many servers keep each stream. */
  readonly replicas: number;
  /** How long job history stays on the stream; for ever when left out. */
  readonly maxAgeMs?: number;
  /** How large the job history may grow; no limit when left out. */
  readonly maxBytes?: number;
}

const SECOND = 1_000_000_000;
const DAY = 86_400 * SECOND;
/** The least that a server takes. */
const SHORTEST_WINDOW = 100_000_000;

/** Deliveries beyond the job's own tries: held, handed back and snoozed work uses them up. */
export const DELIVERY_BACKSTOP = 1_000;

/** Work that may be out at once per queue; work that waits for its next try counts in it. */
export const MAX_ACK_PENDING = 100_000;

/**
 * Gives every stream and bucket, in the order in which they must be made.
 *
 * @example
 * ```ts
 * import { serverCapabilities } from "./capabilities.ts";
 * import { valueOrThrow } from "./result.ts";
 * import { topology } from "./topology.ts";
 * import assert from "node:assert/strict";
 *
 * const capabilities = valueOrThrow(serverCapabilities("2.15.1"));
 * const names = topology({ capabilities, replicas: 1 }).map((stream) => stream.name);
 * assert.deepEqual(names.slice(0, 2), ["JOBS", "JOBS_WORK"]);
 * ```
 */
export function topology(options: TopologyOptions): readonly StreamTopology[] {
  return [
    jobsStream(options),
    workStream(options),
    {
      ...stream(WORKERS_STREAM, "Trellis Jobs: who works, latest heartbeat each", options),
      subjects: [PRESENCE_FILTER],
      discard: "old",
      max_age: DAY,
      max_msgs_per_subject: 1,
    },
    {
      ...stream(ADVISORIES_STREAM, "Trellis Jobs: work delivered too often", options),
      subjects: [ADVISORY_FILTER],
      discard: "old",
      max_age: 7 * DAY,
    },
    bucket(KEYS_BUCKET, "Trellis Jobs: key leases", options),
    bucket(META_BUCKET, "Trellis Jobs: declared queues and idempotency records", options),
    bucket(ADMIN_BUCKET, "Trellis Jobs: the admin's owner lease", options),
  ];
}

/**
 * Gives the configuration of a queue's consumer.
 *
 * @example
 * ```ts
 * import { resolveQueue } from "./queue.ts";
 * import { workConsumer } from "./topology.ts";
 * import assert from "node:assert/strict";
 *
 * const consumer = workConsumer({ service: "billing", jobType: "charge" }, resolveQueue("charge", {}));
 * assert.equal(consumer.max_deliver, 1005);
 * ```
 */
export function workConsumer(queue: QueueAddress, settings: QueueSettings): ConsumerTopology {
  return {
    durable_name: durableName(queue),
    filter_subject: workSubject(queue),
    ack_policy: "explicit",
    ack_wait: settings.ackWaitMs * 1_000_000,
    max_deliver: settings.maxDeliver + DELIVERY_BACKSTOP,
    max_ack_pending: MAX_ACK_PENDING,
    deliver_policy: "all",
    replay_policy: "instant",
  };
}

function jobsStream(options: TopologyOptions): StreamTopology {
  const { capabilities, maxAgeMs, maxBytes } = options;
  return {
    ...stream(JOBS_STREAM, "Trellis Jobs: every event of every job, the truth", options),
    subjects: [LIFECYCLE_FILTER],
    // At a limit a create fails and says so; history is never dropped in silence.
    discard: "new",
    // Compare-and-set replaces message ids where the server has it; without it a late repeat of a
    // publish is caught by nothing but its id, so ids are remembered for longer than any repeat takes.
    // The server takes no window that is longer than messages live.
    duplicate_window: Math.min(
      capabilities.lifecycleCompareAndSet ? 30 * SECOND : 120 * SECOND,
      (maxAgeMs ?? Infinity) * 1_000_000,
    ),
    ...(capabilities.atomicBatches && { allow_atomic: true }),
    ...(maxAgeMs !== undefined && { max_age: maxAgeMs * 1_000_000 }),
    ...(maxBytes !== undefined && { max_bytes: maxBytes }),
  };
}

function workStream(options: TopologyOptions): StreamTopology {
  return {
    ...stream(WORK_STREAM, "Trellis Jobs: work to do, sourced from JOBS", options),
    subjects: [WORK_FILTER],
    retention: "workqueue",
    // One source with two transforms: two sources of one stream lose messages while they attach.
    sources: [{
      name: JOBS_STREAM,
      subject_transforms: WORK_EVENTS.map((event) => ({
        src: eventFilter(event),
        dest: WORK_TRANSFORM_DESTINATION,
      })),
    }],
  };
}

function stream(name: string, description: string, options: TopologyOptions): StreamTopology {
  return {
    name,
    description,
    subjects: [],
    retention: "limits",
    storage: "file",
    num_replicas: options.replicas,
    discard: "old",
    allow_direct: true,
    allow_rollup_hdrs: false,
    duplicate_window: SHORTEST_WINDOW,
  };
}

/** A bucket is a stream; ours differ from a client's default in that roll-up is off. */
function bucket(name: string, description: string, options: TopologyOptions): StreamTopology {
  return {
    ...stream(bucketStream(name), description, options),
    subjects: [bucketSubject(name, ">")],
    discard: "new",
    max_msgs_per_subject: 1,
    deny_delete: true,
  };
}
