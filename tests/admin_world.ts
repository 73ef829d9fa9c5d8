/** What the tests of the admin share: a service with jobs in every state, an admin, and ways to ask it. */

import assert from "node:assert/strict";
import {
  type Admin,
  type AdminClient,
  type AdminOptions,
  createAdminClient,
  type HttpApp,
  httpTransport,
  natsTransport,
  startAdmin,
} from "../admin/mod.ts";
import {
  type ConnectOptions,
  connectService,
  defineJobs,
  JobFailed,
  type Service,
  type ServiceDefinition,
} from "../mod.ts";
import { type Connection, connectNats, provision } from "../nats/mod.ts";
import { openSqliteStore } from "../projection/sqlite/mod.ts";
import type { ProjectionStore } from "../projection/mod.ts";
import { type QueueOptions, valueOrThrow } from "../protocol/mod.ts";
import { aborted, numbered, within } from "./job_service.ts";
import { newestPlace } from "./projection_world.ts";

/** A running admin of a test, over a connection of its own. */
export interface TestAdmin extends AsyncDisposable {
  readonly admin: Admin;
  readonly connection: Connection;
  readonly store: ProjectionStore;
  readonly notes: readonly string[];
  /** The admin's app without a socket. */
  readonly app: HttpApp;
  /** The typed client over HTTP. */
  readonly http: AdminClient;
  /** The typed client over NATS. */
  readonly nats: AdminClient;
  /** Waits until everything stored now is in the lists. */
  caughtUp(): Promise<void>;
}

/** Where the app seems to be. */
export const BASE = "http://127.0.0.1:8080";

/** Starts an admin with its rows in memory unless a file is given. */
export async function startTestAdmin(
  url: string,
  { path = ":memory:", token, provision: make = true, ...options }:
    & Partial<AdminOptions>
    & { readonly path?: string; readonly token?: string; readonly provision?: boolean } = {},
): Promise<TestAdmin> {
  const connection = options.connection ?? await connectNats({ servers: url });
  if (make) await provision(connection).orThrow();
  const store = openSqliteStore({ path });
  const notes: string[] = [];
  const onNote = (note: string) => void notes.push(note);
  const admin = startAdmin({ store, onNote, ...options, connection });
  const as = token === undefined ? {} : { token };
  const send = (request: Request) => admin.app.fetch(request);
  return {
    admin,
    connection,
    store,
    notes,
    app: admin.app,
    http: createAdminClient(httpTransport({ url: BASE, fetch: send, ...as })),
    nats: createAdminClient(natsTransport({ connection, ...as })),
    async caughtUp() {
      const place = await newestPlace(url);
      assert.ok(await admin.ports.projected(place), `the lists are not at ${place}`);
    },
    async [Symbol.asyncDispose]() {
      await admin.stop();
      await store[Symbol.asyncDispose]();
      await connection.close();
    },
  };
}

/** The queues of the test service. */
export type MarketQueues = {
  readonly sell: { readonly payload: typeof numbered } & QueueOptions;
};

/** What a job's number makes of it. */
export const KIND = { complete: 0, fail: 1, die: 2, hold: 3, failOnce: 4 } as const;

/** One queue, whose jobs end as their number says. */
export const market: ServiceDefinition<MarketQueues> = defineJobs("market", {
  sell: { payload: numbered, maxDeliver: 2, backoffMs: [5], concurrency: 20, dlq: true },
});

/** A service at work, and how often it ran each job. */
export interface Market extends AsyncDisposable {
  readonly service: Service<MarketQueues, object>;
  readonly runs: ReadonlyMap<string, number>;
  /** From now on, jobs that would fail or die complete; or fail again. */
  mend(complete?: boolean): void;
  /** Creates a job and gives its id. */
  create(kind: number, options?: { readonly deadlineMs?: number }): Promise<string>;
  /** Creates a job and waits for its end. */
  ended(kind: number): Promise<string>;
  /** Waits until a job has begun. */
  begun(id: string): Promise<void>;
}

/** Starts the service. */
export async function startMarket(
  url: string,
  { start = true, ...options }: ConnectOptions & {
    readonly start?: boolean;
    readonly provision?: boolean;
  } = {},
): Promise<Market> {
  const settings = { servers: url, drainMs: 100, ...options };
  const service = await connectService(market, settings).orThrow();
  const runs = new Map<string, number>();
  const starts = new Map<string, PromiseWithResolvers<void>>();
  const startOf = (id: string) => {
    const known = starts.get(id) ?? Promise.withResolvers<void>();
    starts.set(id, known);
    return known;
  };
  let mended = false;
  service.jobs.sell.handle(async ({ job, signal }) => {
    runs.set(job.id, (runs.get(job.id) ?? 0) + 1);
    startOf(job.id).resolve();
    const kind = job.payload.n % 5;
    if (kind === KIND.hold) throw await aborted(signal);
    if (mended) return;
    if (kind === KIND.fail) throw new JobFailed("will not do");
    if (kind === KIND.die) throw new Error("never");
    if (kind === KIND.failOnce && job.tries === 1) throw new Error("once more");
  });
  if (start) await service.start().orThrow();
  const create = async (n: number, options = {}) =>
    (await service.jobs.sell.create({ n }, options).orThrow()).id;
  return {
    service,
    runs,
    mend: (complete = true) => void (mended = complete),
    create,
    async ended(n) {
      const id = await create(n);
      const ref = service.jobs.sell.ref(id);
      valueOrThrow(await within("end of a job", ref.wait({ timeoutMs: 15_000 })));
      return id;
    },
    begun: (id) => within("start of a job", startOf(id).promise),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** Asks the app as anybody could. */
export async function ask(
  { app }: Pick<TestAdmin, "app">,
  method: string,
  path: string,
  { headers = {}, body }: { readonly headers?: HeadersInit; readonly body?: string } = {},
): Promise<{ status: number; body: unknown; headers: Headers }> {
  const sent = body === undefined ? {} : { body };
  const response = await app.fetch(new Request(`${BASE}${path}`, { method, headers, ...sent }));
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  return {
    status: response.status,
    body: isJson ? JSON.parse(text) : text,
    headers: response.headers,
  };
}
