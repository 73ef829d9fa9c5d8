/**
 * The least that those need who look after jobs: the admin, who provisions, and who only looks.
 *
 * @module
 */

import { assertName } from "./names.ts";
import { type Permissions, serviceInboxPrefix } from "./permissions.ts";
import {
  ADMIN_BUCKET,
  ADVISORIES_STREAM,
  bucketStream,
  bucketSubject,
  eventFilter,
  JOBS_STREAM,
  KEYS_BUCKET,
  LIFECYCLE_FILTER,
  META_BUCKET,
  PRESENCE_FILTER,
  RPC_FILTER,
  WORK_FILTER,
  WORK_STREAM,
  WORKERS_STREAM,
} from "./subjects.ts";

const BUCKETS = [KEYS_BUCKET, META_BUCKET, ADMIN_BUCKET].map(bucketStream);
const STREAMS = [JOBS_STREAM, WORK_STREAM, WORKERS_STREAM, ADVISORIES_STREAM, ...BUCKETS];

/** Events that an admin writes: what operators wish, what is overdue, what was given up. */
const ADMIN_EVENTS = ["cancelled", "expired", "retried", "dismissed", "dead", "stale"] as const;

/**
 * The permissions of an admin under a name: it reads everything, writes its own kinds of events,
 * answers requests, and removes what has had its time. Streams must be there: it may not make them.
 *
 * @example
 * ```ts
 * import { adminPermissions } from "./operator_permissions.ts";
 * import assert from "node:assert/strict";
 *
 * const { publish } = adminPermissions("admin");
 * assert.ok(publish.includes("trellis.jobs.*.*.*.cancelled"));
 * assert.ok(!publish.includes("trellis.jobs.*.*.*.completed"));
 * ```
 */
export function adminPermissions(name: string): Permissions {
  assertName("service", name);
  const read = [JOBS_STREAM, WORKERS_STREAM, ADVISORIES_STREAM, ...BUCKETS];
  return {
    publish: [
      ...ADMIN_EVENTS.map(eventFilter),
      WORK_FILTER,
      bucketSubject(KEYS_BUCKET, ">"),
      bucketSubject(ADMIN_BUCKET, ">"),
      ...STREAMS.map((stream) => `$JS.API.STREAM.INFO.${stream}`),
      ...STREAMS.flatMap((stream) => [
        `$JS.API.DIRECT.GET.${stream}`,
        `$JS.API.DIRECT.GET.${stream}.>`,
      ]),
      ...read.flatMap((stream) => [
        `$JS.API.CONSUMER.CREATE.${stream}.>`,
        `$JS.API.CONSUMER.MSG.NEXT.${stream}.*`,
        `$JS.API.CONSUMER.DELETE.${stream}.*`,
      ]),
      `$JS.ACK.${ADVISORIES_STREAM}.>`,
      `$JS.API.CONSUMER.INFO.${WORK_STREAM}.*`,
      `$JS.API.CONSUMER.PAUSE.${WORK_STREAM}.*`,
      `$JS.API.STREAM.MSG.GET.${JOBS_STREAM}`,
      `$JS.API.STREAM.MSG.GET.${WORK_STREAM}`,
      `$JS.API.STREAM.MSG.DELETE.${WORK_STREAM}`,
      `$JS.API.STREAM.LEADER.STEPDOWN.${WORK_STREAM}`,
      ...[JOBS_STREAM, bucketStream(KEYS_BUCKET), bucketStream(META_BUCKET)].map((stream) =>
        `$JS.API.STREAM.PURGE.${stream}`
      ),
    ],
    subscribe: [
      `${serviceInboxPrefix(name)}.>`,
      RPC_FILTER,
      bucketSubject(ADMIN_BUCKET, ">"),
    ],
    allowResponses: true,
  };
}

/**
 * The permissions of whoever provisions, under a name: making and changing our streams, and nothing
 * that is in them.
 *
 * @example
 * ```ts
 * import { provisionerPermissions } from "./operator_permissions.ts";
 * import assert from "node:assert/strict";
 *
 * const { publish } = provisionerPermissions("provisioner");
 * assert.ok(publish.includes("$JS.API.STREAM.CREATE.JOBS"));
 * assert.ok(publish.every((subject) => !subject.includes("DELETE")));
 * ```
 */
export function provisionerPermissions(name: string): Permissions {
  assertName("service", name);
  return {
    publish: STREAMS.flatMap((stream) =>
      ["CREATE", "INFO", "UPDATE"].map((operation) => `$JS.API.STREAM.${operation}.${stream}`)
    ),
    subscribe: [`${serviceInboxPrefix(name)}.>`],
  };
}

/**
 * The permissions of whoever watches and asks the admin, under a name: hearing events and heartbeats
 * as they are published, and calling the admin, which judges by itself what they may do.
 *
 * @example
 * ```ts
 * import { observerPermissions } from "./operator_permissions.ts";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(observerPermissions("ann").publish, ["rpc.v1.Jobs.*"]);
 * ```
 */
export function observerPermissions(name: string): Permissions {
  assertName("service", name);
  return {
    publish: [RPC_FILTER],
    subscribe: [`${serviceInboxPrefix(name)}.>`, LIFECYCLE_FILTER, PRESENCE_FILTER],
  };
}
