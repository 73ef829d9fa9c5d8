/**
 * Calls over HTTP, and listening to events.
 *
 * @module
 */

import { err, ok, type Result } from "../../protocol/mod.ts";
import { AdminError, errorEnvelopeSchema, fromEnvelope } from "../errors.ts";
import { PROCEDURES } from "../procedures.ts";
import type { Transport } from "./client.ts";

/** How calls are made. */
export interface HttpTransportOptions {
  /** Where the admin is, for example `http://127.0.0.1:8080`. */
  readonly url: string;
  /** A bearer token. */
  readonly token?: string;
  /** How requests are made; the runtime's own `fetch` when left out. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** How long an answer may take; 30 s. */
  readonly timeoutMs?: number;
}

/** Makes a transport over HTTP. */
export function httpTransport(options: HttpTransportOptions): Transport {
  const { fetch: send = fetch, timeoutMs = 30_000 } = options;
  return async (name, input) => {
    try {
      const { method, path } = PROCEDURES[name].http;
      const signal = AbortSignal.timeout(timeoutMs);
      const response = await send(buildRequest(options, { method, path }, input, signal));
      return await readAnswer(response);
    } catch (cause) {
      const said = cause instanceof Error ? cause.message : String(cause);
      const late = cause instanceof Error && cause.name === "TimeoutError";
      const code = late ? "unconfirmed" : "unavailable";
      return err(new AdminError(code, `Cannot do ${name}: no answer from ${options.url}, ${said}`));
    }
  };
}

/** Reads a JSON answer, or the error that it is. */
async function readAnswer(response: Response): Promise<Result<unknown, AdminError>> {
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // Something between us and the admin answered in words of its own.
    const message = `Cannot read the answer: status ${response.status}, not JSON`;
    return err(new AdminError("unavailable", message));
  }
  if (response.ok) return ok(body);
  const failed = errorEnvelopeSchema.safeParse(body);
  if (failed.success) return err(fromEnvelope(failed.data));
  return err(new AdminError("unavailable", `Cannot read the answer: status ${response.status}`));
}

/** Headers that say who asks. */
export function authorization({ token }: Pick<HttpTransportOptions, "token">): HeadersInit {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

function buildRequest(
  options: HttpTransportOptions,
  { method, path }: { readonly method: string; readonly path: string },
  input: unknown,
  signal: AbortSignal,
): Request {
  // Every input is an object of plain values: the types of the client say so.
  const fields = new Map(Object.entries(input as Readonly<Record<string, unknown>>));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = String(fields.get(field));
    fields.delete(field);
    return encodeURIComponent(value);
  });
  const url = new URL(filled, options.url);
  const headers = new Headers(authorization(options));
  if (method === "post") {
    headers.set("content-type", "application/json");
    const body = JSON.stringify(Object.fromEntries(fields));
    return new Request(url, { method: "POST", headers, body, signal });
  }
  for (const [field, value] of fields) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined) url.searchParams.append(field, String(each));
    }
  }
  return new Request(url, { method: method.toUpperCase(), headers, signal });
}
