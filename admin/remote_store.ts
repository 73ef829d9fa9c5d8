/**
 * The rows of a projection over HTTP, for where there is no file system: one side next to the
 * database, the other at the edge.
 *
 * @module
 */

import type { ProjectionStore } from "../projection/mod.ts";
import { hashToken } from "./authenticate.ts";
import type { HttpApp } from "./http/app.ts";

/** How rows are served. */
export interface ServeStoreOptions {
  /** The rows. */
  readonly store: ProjectionStore;
  /** What whoever asks must know; it may do everything to the rows. */
  readonly token: string;
}

/** Where rows are. */
export interface RemoteStoreOptions {
  /** Where they are served. */
  readonly url: string;
  /** What one must know. */
  readonly token: string;
  /** How requests are made; the runtime's own `fetch` when left out. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** How long an answer may take; 10 s. */
  readonly timeoutMs?: number;
}

type Method = Exclude<keyof ProjectionStore, symbol>;

/** Every method of the port: a name that is not here is not called. */
const METHODS = {
  position: true,
  getJob: true,
  listJobs: true,
  countJobs: true,
  readDocuments: true,
  countQueues: true,
  oldestPending: true,
  listDue: true,
  listUnfinished: true,
  listEnded: true,
  findKeys: true,
  listWorkers: true,
  readStatistics: true,
  readRows: true,
  commit: true,
  reset: true,
  forgetJobs: true,
  trimStatistics: true,
  savePresence: true,
} as const satisfies Record<Method, true>;

/** Serves rows: each method of the port is a POST with its arguments as a JSON list. */
export function serveStore({ store, token }: ServeStoreOptions): HttpApp {
  const expected = hashToken(`Bearer ${token}`);
  return {
    async fetch(request) {
      const given = await hashToken(request.headers.get("authorization") ?? "");
      if (given !== await expected) return new Response(null, { status: 401 });
      const method = new URL(request.url).pathname.split("/").at(-1) ?? "";
      if (request.method !== "POST" || !isMethod(method)) {
        return new Response(null, { status: 404 });
      }
      try {
        // The other side is the same port, typed the same; what it sends was typed there.
        const call = store[method] as (...given: unknown[]) => Promise<unknown>;
        return Response.json({ value: await call(...(await request.json() as unknown[])) });
      } catch (error) {
        const name = error instanceof RangeError ? "RangeError" : "Error";
        const message = error instanceof Error ? error.message : String(error);
        return Response.json({ name, message }, { status: 422 });
      }
    },
  };
}

/** Opens rows that are served elsewhere. */
export function openRemoteStore(options: RemoteStoreOptions): ProjectionStore {
  const { url, token, fetch: send = fetch, timeoutMs = 10_000 } = options;
  const call = async (method: Method, given: readonly unknown[]): Promise<unknown> => {
    const response = await send(
      new Request(new URL(method, url.endsWith("/") ? url : `${url}/`), {
        method: "POST",
        headers: { "authorization": `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(given),
        signal: AbortSignal.timeout(timeoutMs),
      }),
    );
    if (response.ok) return (await response.json() as { value?: unknown }).value;
    if (response.status !== 422) {
      await response.body?.cancel();
      throw new Error(`Cannot ask the store at ${url}: status ${response.status}`);
    }
    const { name, message } = await response.json() as { name: string; message: string };
    throw name === "RangeError" ? new RangeError(message) : new Error(message);
  };
  const methods = Object.keys(METHODS).filter(isMethod)
    .map((method) => [method, (...given: unknown[]) => call(method, given)]);
  const close = { [Symbol.asyncDispose]: () => Promise.resolve() };
  // One function per method of the port, each answered by the same port on the other side.
  return { ...Object.fromEntries(methods), ...close } as unknown as ProjectionStore;
}

function isMethod(name: string): name is Method {
  return Object.hasOwn(METHODS, name);
}
