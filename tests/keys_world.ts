/** What the world tests of `keys/` share: a provisioned server, processes on it, a history by hand. */

import {
  type Acquisition,
  type Admission,
  type JobFate,
  type JobKey,
  type KeyedJobs,
  type KeyPolicy,
  type Keys,
  openKeys,
  openTurns,
  type Supersession,
  type Turns,
} from "../keys/mod.ts";
import {
  type Connection,
  connectNats,
  type ConnectOptions,
  createPublisher,
  provision,
  type Publisher,
} from "../nats/mod.ts";
import type { NatsServer } from "../testing/mod.ts";
import { job, POLICY } from "./keys_fixtures.ts";

/** The queue of these tests. */
export const QUEUE = { service: "billing", jobType: "charge" };

/** A key; others differ by the number. */
export function keyOf(n = 1): JobKey {
  return { key: `order:${n}`, keyHash: n.toString(16).padStart(64, "0") };
}

/** Fates that a test writes itself: the coordinator asks, the test knows. */
export interface WrittenHistory extends KeyedJobs {
  /** What each job has come to; `waiting` when nothing else is said. */
  readonly fates: Map<string, JobFate>;
  /** What was asked for. */
  readonly asked: string[];
  /** Who was superseded. */
  readonly superseded: Supersession[];
}

/** Makes such a history; a running job that is superseded becomes stale. */
export function writtenHistory(): WrittenHistory {
  const history: WrittenHistory = {
    fates: new Map(),
    asked: [],
    superseded: [],
    fate(jobId) {
      history.asked.push(jobId);
      return Promise.resolve(history.fates.get(jobId) ?? { kind: "waiting" });
    },
    supersede(supersession) {
      history.superseded.push(supersession);
      const { jobId, slotToken } = supersession.slot;
      history.fates.set(jobId, { kind: "ended", state: "stale", slotToken });
      return history.fate(jobId);
    },
  };
  return history;
}

/** A process: its own connection, its own memory, its own subscription. */
export interface KeysProcess extends AsyncDisposable {
  readonly connection: Connection;
  readonly publisher: Publisher;
  readonly keys: Keys;
  readonly turns: Turns;
}

/** Provisions a server. */
export async function provisioned(server: NatsServer): Promise<void> {
  await using connection = await connectNats({ servers: server.url });
  await provision(connection).orThrow();
}

/** Connects a process to a provisioned server. */
export async function connectKeys(
  server: NatsServer,
  jobs: KeyedJobs,
  policy: Partial<KeyPolicy> = {},
  { clock = Date.now, ...user }: ConnectOptions & { readonly clock?: () => number } = {},
): Promise<KeysProcess> {
  const connection = await connectNats({ servers: server.url, ...user });
  const inboxPrefix = user.inboxPrefix ?? "_INBOX";
  const publisher = createPublisher(connection, { inboxPrefix });
  const options = { connection, publisher, queue: QUEUE, jobs, policy: { ...POLICY, ...policy } };
  const keys = openKeys({ ...options, clock });
  const turns = openTurns({ connection, keys, clock });
  await connection.flush();
  return {
    connection,
    publisher,
    keys,
    turns,
    async [Symbol.asyncDispose]() {
      turns[Symbol.dispose]();
      publisher[Symbol.dispose]();
      await connection.close();
    },
  };
}

/** A job that wants to come in. */
export function admission(n: number, key: JobKey = keyOf()): Admission {
  return { key, jobId: job(n), requestId: "r", whenFull: "reject" };
}

/** A job that wants to run. */
export function acquisition(n: number, key: JobKey = keyOf()): Acquisition {
  return {
    key,
    jobId: job(n),
    requestId: "r",
    slotToken: `token-${n}`,
    instanceId: "instance",
    tries: 1,
    skippable: true,
  };
}
