/**
 * Listening to events over HTTP, taken up again where it broke off.
 *
 * @module
 */

import { backoffMs, err, ok, type Result, withJitterMs } from "../../protocol/mod.ts";
import { AdminError, errorEnvelopeSchema, fromEnvelope } from "../errors.ts";
import { sequencedEvent, type SequencedEventAnswer } from "../messages/jobs.ts";
import type { WatchRequest } from "../watch_request.ts";
import { authorization, type HttpTransportOptions } from "./http_transport.ts";

/** Which events, and until when. */
export interface WatchEventsOptions extends WatchRequest {
  /** Ends it. */
  readonly signal?: AbortSignal;
}

const BACKOFF = { policy: "exponential", firstMs: 100, maxMs: 10_000 } as const;

/**
 * Gives events as they are stored, through broken connections and restarts of the admin, each once.
 * Throws {@linkcode AdminError} when the admin refuses, which no waiting would mend.
 */
export async function* watchEvents(
  transport: Pick<HttpTransportOptions, "url" | "token" | "fetch">,
  { signal, ...request }: WatchEventsOptions = {},
): AsyncGenerator<SequencedEventAnswer, void, undefined> {
  let last: number | undefined;
  const isOver = () => signal?.aborted === true;
  for (let failures = 0; !isOver();) {
    try {
      const opened = await open(transport, request, last, signal);
      if (!opened.ok) throw opened.error;
      for await (const event of readEvents(opened.value)) {
        failures = 0;
        last = event.sequence;
        yield event;
      }
    } catch (error) {
      if (isOver()) return;
      if (error instanceof AdminError && error.code !== "unavailable" && error.code !== "busy") {
        throw error;
      }
    }
    const waitMs = withJitterMs(backoffMs(BACKOFF, ++failures), Math.random);
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

async function open(
  options: Pick<HttpTransportOptions, "url" | "token" | "fetch">,
  request: WatchRequest,
  last: number | undefined,
  signal: AbortSignal | undefined,
): Promise<Result<ReadableStream<Uint8Array>, AdminError>> {
  const url = new URL("/v1/watch", options.url);
  for (const [field, value] of Object.entries(request)) url.searchParams.set(field, String(value));
  const headers = new Headers(authorization(options));
  if (last !== undefined) headers.set("last-event-id", String(last));
  const send = options.fetch ?? fetch;
  const response = await send(new Request(url, { headers, ...(signal && { signal }) }));
  if (response.ok && response.body !== null) return ok(response.body);
  const failed = errorEnvelopeSchema.safeParse(await response.json().catch(() => undefined));
  if (failed.success) return err(fromEnvelope(failed.data));
  return err(new AdminError("unavailable", `Cannot listen: status ${response.status}`));
}

async function* readEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<SequencedEventAnswer, void, undefined> {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined) yield sequencedEvent.parse(JSON.parse(data));
    }
  }
}
