/**
 * The least that a service needs on a server, as data and as nats-server configuration.
 *
 * @module
 */

import { assertName } from "./names.ts";
import {
  bucketStream,
  bucketSubject,
  durableName,
  JOBS_STREAM,
  KEYS_BUCKET,
  META_BUCKET,
  serviceFilter,
  servicePresenceFilter,
  WORK_STREAM,
  workSubject,
} from "./subjects.ts";

/** What a user may publish to and subscribe to. */
export interface Permissions {
  /** Whether it may answer requests that it receives. */
  readonly allowResponses?: true;
  /** Subjects it may publish to. */
  readonly publish: readonly string[];
  /** Subjects it may subscribe to. */
  readonly subscribe: readonly string[];
}

/**
 * Prefix of the reply subjects of a service: its own, so that no service hears another's answers.
 *
 * @example
 * ```ts
 * import { serviceInboxPrefix } from "./permissions.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(serviceInboxPrefix("billing"), "_INBOX_billing");
 * ```
 */
export function serviceInboxPrefix(service: string): string {
  return `_INBOX_${service}`;
}

/**
 * The permissions of a service with these queues: its own jobs, its own consumers, its own entries,
 * nothing else. Streams must be there: it may not make them.
 *
 * @example
 * ```ts
 * import { servicePermissions } from "./permissions.ts";
 * import assert from "node:assert/strict";
 *
 * const { publish } = servicePermissions("billing", ["charge"]);
 * assert.ok(publish.includes("trellis.jobs.billing.>"));
 * ```
 */
export function servicePermissions(service: string, jobTypes: readonly string[]): Permissions {
  assertName("service", service);
  const perQueue = jobTypes.flatMap((jobType) => {
    assertName("job type", jobType);
    const durable = durableName({ service, jobType });
    const filter = workSubject({ service, jobType });
    return [
      `$JS.API.CONSUMER.CREATE.${WORK_STREAM}.${durable}.${filter}`,
      `$JS.API.CONSUMER.INFO.${WORK_STREAM}.${durable}`,
      `$JS.API.CONSUMER.MSG.NEXT.${WORK_STREAM}.${durable}`,
      `$JS.ACK.${WORK_STREAM}.${durable}.>`,
    ];
  });
  const perBucket = [KEYS_BUCKET, META_BUCKET].flatMap((bucket) => {
    const own = bucketSubject(bucket, `${service}.>`);
    return [own, `$JS.API.DIRECT.GET.${bucketStream(bucket)}.${own}`];
  });
  return {
    publish: [
      serviceFilter(service),
      servicePresenceFilter(service),
      `$JS.API.DIRECT.GET.${JOBS_STREAM}.${serviceFilter(service)}`,
      ...perQueue,
      ...perBucket,
    ],
    subscribe: [
      `${serviceInboxPrefix(service)}.>`,
      serviceFilter(service),
      bucketSubject(KEYS_BUCKET, `${service}.>`),
    ],
  };
}

/**
 * Writes permissions as the `permissions` block of a user in nats-server configuration.
 *
 * @example
 * ```ts
 * import { permissionsConfig } from "./permissions.ts";
 * import assert from "node:assert/strict";
 *
 * const text = permissionsConfig({ publish: ["a.>"], subscribe: ["b"] });
 * assert.match(text, /publish: \{ allow: \[\n\s+"a\.>"\n\s+\] \}/);
 * ```
 */
export function permissionsConfig(
  { publish, subscribe, allowResponses }: Permissions,
): string {
  const list = (subjects: readonly string[]) =>
    `{ allow: [\n${subjects.map((subject) => `    ${JSON.stringify(subject)}`).join("\n")}\n  ] }`;
  const responses = allowResponses === true ? "\n  allow_responses: true" : "";
  return `permissions: {\n  publish: ${list(publish)}\n  subscribe: ${
    list(subscribe)
  }${responses}\n}`;
}
