/**
 * The live stream of events as server-sent events, which can be taken up again where it broke off.
 *
 * @module
 */

import { addressOf, err, ok, type Result } from "../../protocol/mod.ts";
import { invalid } from "../call.ts";
import { AdminError } from "../errors.ts";
import { findJob } from "../functions/list_jobs.ts";
import { toJsonSchema } from "../json_schema.ts";
import type { AdminPorts, WatchOptions } from "../ports.ts";
import { type WatchRequest, watchRequest } from "../watch_request.ts";
import { readQuery } from "./read_input.ts";

const MAX_WATCHERS = 100;
/** Proxies end connections on which nothing is said; a comment is nothing to a listener. */
const KEEP_ALIVE_MS = 15_000;
const encoder = new TextEncoder();

/** Answers requests to listen. */
export type Watch = (request: Request) => Promise<Result<Response, AdminError>>;

/** Makes the answerer; at most so many may listen at once. */
export function createWatch(ports: AdminPorts, maxWatchers: number = MAX_WATCHERS): Watch {
  const { schema } = toJsonSchema(watchRequest, "input");
  let watchers = 0;
  return async (request) => {
    const query = readQuery(new URL(request.url).searchParams, schema);
    const parsed = watchRequest.safeParse(query);
    if (!parsed.success) return err(invalid("Watch", parsed.error));
    const place = resumePlace(request.headers.get("last-event-id"), parsed.data.fromSequence);
    if (!place.ok) return place;
    const options = await watchOptions(ports, parsed.data, place.value);
    if (!options.ok) return options;
    if (watchers >= maxWatchers) {
      return err(new AdminError("busy", `Cannot listen: ${watchers} listen already, try again`));
    }
    watchers++;
    const ended = () => void watchers--;
    const body = eventStream(ports, options.value, request.signal, ended);
    return ok(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  };
}

/** A client that comes back says what it has seen; that counts more than where it once began. */
function resumePlace(
  lastEventId: string | null,
  fromSequence: number | undefined,
): Result<number | undefined, AdminError> {
  if (lastEventId === null || lastEventId === "") return ok(fromSequence);
  if (/^\d{1,15}$/.test(lastEventId)) return ok(Number(lastEventId) + 1);
  const message = `Cannot listen: Last-Event-ID is ${JSON.stringify(lastEventId)}, not a place`;
  return err(new AdminError("validation", message, { field: "Last-Event-ID" }));
}

async function watchOptions(
  { store }: AdminPorts,
  { id, service, type }: WatchRequest,
  fromSequence: number | undefined,
): Promise<Result<Omit<WatchOptions, "signal">, AdminError>> {
  const from = fromSequence === undefined ? {} : { fromSequence };
  if (id === undefined) {
    return ok({
      ...from,
      ...(service !== undefined && { service }),
      ...(type !== undefined && { type }),
    });
  }
  const found = await findJob(store, "watch", id);
  return found.ok ? ok({ ...from, job: addressOf(found.value.summary) }) : found;
}

function eventStream(
  ports: AdminPorts,
  options: Omit<WatchOptions, "signal">,
  requestSignal: AbortSignal,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  requestSignal.addEventListener("abort", stop, { once: true });
  let keepAlive: ReturnType<typeof setInterval> | undefined;
  const events = ports.watch({ ...options, signal: stopping.signal })[Symbol.asyncIterator]();
  const close = () => {
    if (keepAlive === undefined) return;
    clearInterval(keepAlive);
    keepAlive = undefined;
    requestSignal.removeEventListener("abort", stop);
    stop();
    ended();
  };
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(": listening\n\n"));
      keepAlive = setInterval(() => {
        // Only when nothing waits to be read: a slow listener needs no more.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(":\n\n"));
      }, KEEP_ALIVE_MS);
    },
    async pull(controller) {
      try {
        const { value, done } = await events.next();
        if (done !== true) {
          const { event: { eventType }, sequence } = value;
          const data = JSON.stringify(value);
          const text = `id: ${sequence}\nevent: ${eventType}\ndata: ${data}\n\n`;
          return controller.enqueue(encoder.encode(text));
        }
        close();
        controller.close();
      } catch (error) {
        close();
        controller.error(error);
      }
    },
    cancel: close,
  });
}
