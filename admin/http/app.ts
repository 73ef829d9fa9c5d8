/**
 * The admin over HTTP: every procedure of the table, the live stream of events, metrics, and the
 * document that describes them. It needs nothing but `fetch` and web streams, so it runs anywhere.
 *
 * @module
 */

import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { err, ok, type Result } from "../../protocol/mod.ts";
import type { Authenticate } from "../authenticate.ts";
import { callProcedure } from "../call.ts";
import { ADMIN_ERRORS, AdminError, toEnvelope } from "../errors.ts";
import { CAPABILITIES, type Identity, permit } from "../identity.ts";
import { toJsonSchema } from "../json_schema.ts";
import { readMetrics } from "../metrics.ts";
import { openApiDocument } from "../openapi.ts";
import type { AdminPorts } from "../ports.ts";
import { PROCEDURE_NAMES, type ProcedureName, PROCEDURES } from "../procedures.ts";
import { guardAnonymous, guardContentType, SECURE_HEADERS } from "./guard.ts";
import { readBody, readQuery } from "./read_input.ts";
import { REFERENCE_STYLE, referencePage } from "./reference.ts";
import { createWatch } from "./watch.ts";

/** How the app answers. */
export interface HttpAppOptions {
  /** The rest of the system. */
  readonly ports: AdminPorts;
  /**
   * Tells who asks. Left out, whoever reaches the app may do everything, as long as they call it by
   * a name of this machine: serve it on loopback only.
   */
  readonly authenticate?: Authenticate;
  /** The largest body that is read; 256 KiB. */
  readonly maxBodyBytes?: number;
  /** About how large an answer may be; 16 MiB. */
  readonly maxReplyBytes?: number;
  /** How many may listen to events at once; 100. */
  readonly maxWatchers?: number;
  /** Told what a procedure threw. */
  readonly onFault?: (what: string, fault: unknown) => void;
}

/** The app: from a request to an answer. */
export interface HttpApp {
  /** Answers a request; never rejects. */
  fetch(request: Request): Promise<Response>;
}

const MAX_BODY_BYTES = 256 * 1024;
const MAX_REPLY_BYTES = 16 * 1024 * 1024;

/** Who asks when nobody is asked who they are. */
export const ANONYMOUS: Identity = { actor: "anonymous (loopback)", capabilities: CAPABILITIES };

/** Makes the app. */
export function createHttpApp(options: HttpAppOptions): HttpApp {
  const { ports, maxBodyBytes = MAX_BODY_BYTES, onFault = () => {} } = options;
  const app = new Hono();
  const identify = async (request: Request): Promise<Result<Identity, AdminError>> => {
    if (options.authenticate !== undefined) {
      return await options.authenticate(request.headers.get("authorization") ?? undefined);
    }
    const guarded = guardAnonymous(request);
    return guarded.ok ? ok(ANONYMOUS) : guarded;
  };

  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(SECURE_HEADERS)) context.header(name, value);
  });
  app.use(bodyLimit({
    maxSize: maxBodyBytes,
    onError: (context) =>
      answer(
        context,
        err(new AdminError("too_large", `Cannot read the body: over ${maxBodyBytes} bytes`)),
      ),
  }));
  app.get("/healthz", (context) => context.json({ status: "ok" }));
  app.get("/readyz", async (context) => {
    const { status } = await ports.health();
    return context.json({ status }, status === "ok" ? 200 : 503);
  });
  const document = openApiDocument();
  app.get("/v1/openapi.json", (context) => context.json(document));
  app.get("/v1/reference", (context) => context.html(referencePage(document)));
  app.get("/v1/reference.css", (context) => {
    return context.body(REFERENCE_STYLE, 200, { "content-type": "text/css; charset=utf-8" });
  });
  app.get("/metrics", async (context) => {
    const identity = await identify(context.req.raw);
    const permitted = identity.ok ? permit(identity.value, "admin.read") : identity;
    if (!permitted.ok) return answer(context, permitted);
    return context.body(await readMetrics(ports), 200, {
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
    });
  });
  const watch = createWatch(ports, options.maxWatchers);
  app.get("/v1/watch", async (context) => {
    const identity = await identify(context.req.raw);
    const permitted = identity.ok ? permit(identity.value, "admin.stream") : identity;
    if (!permitted.ok) return answer(context, permitted);
    const watched = await watch(context.req.raw);
    return watched.ok ? watched.value : answer(context, watched);
  });
  const maxReplyBytes = options.maxReplyBytes ?? MAX_REPLY_BYTES;
  for (const name of PROCEDURE_NAMES) {
    const { http: { method, path }, input } = PROCEDURES[name];
    const { schema } = toJsonSchema(input, "input");
    app.on(method.toUpperCase(), path.replaceAll(/\{(\w+)\}/g, ":$1"), async (context) => {
      const identity = await identify(context.req.raw);
      if (!identity.ok) return answer(context, identity);
      const read = await readInput(name, context, (query) => readQuery(query, schema));
      if (!read.ok) return answer(context, read);
      const call = { identity: identity.value, ports, maxReplyBytes, onFault };
      return answer(context, await callProcedure(name, read.value, call));
    });
  }
  app.notFound((context) => {
    const { method, path } = context.req;
    const message = `Cannot ${method} ${path}: there is no such path, see /v1/reference`;
    return answer(context, err(new AdminError("not_found", message)));
  });
  app.onError((fault, context) => {
    onFault(`${context.req.method} ${context.req.path}`, fault);
    const message = "Cannot answer: the admin failed, its log says why";
    return answer(context, err(new AdminError("internal", message)));
  });
  return { fetch: async (request) => await app.fetch(request) };
}

async function readInput(
  name: ProcedureName,
  context: Context,
  readQuery: (query: URLSearchParams) => Record<string, unknown>,
): Promise<Result<Record<string, unknown>, AdminError>> {
  const { raw } = context.req;
  const path = context.req.param() as Record<string, string>;
  if (PROCEDURES[name].http.method !== "post") {
    return ok({ ...readQuery(new URL(raw.url).searchParams), ...path });
  }
  const typed = guardContentType(raw);
  return typed.ok ? readBody(await context.req.text(), path) : typed;
}

function answer(context: Context, result: Result<unknown, AdminError>): Response {
  if (result.ok) return context.json(result.value);
  const { status } = ADMIN_ERRORS[result.error.code];
  if (status === 401) context.header("www-authenticate", "Bearer");
  return context.json(toEnvelope(result.error), status);
}
