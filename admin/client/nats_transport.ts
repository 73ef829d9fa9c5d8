/**
 * Calls over NATS, to whichever replica answers first.
 *
 * @module
 */

import { type Connection, encodeHeaderLines, errorMessage, isRetryable } from "../../nats/mod.ts";
import { err, ok, rpcSubject } from "../../protocol/mod.ts";
import { AdminError, errorEnvelopeSchema, fromEnvelope } from "../errors.ts";
import type { Transport } from "./client.ts";

/** How calls are made. */
export interface NatsTransportOptions {
  /** The connection; it stays the caller's to close. */
  readonly connection: Connection;
  /** A bearer token. */
  readonly token?: string;
  /** How long an answer may take; 30 s, since many jobs take their time. */
  readonly timeoutMs?: number;
}

const decoder = new TextDecoder();

/** Makes a transport over a connection. */
export function natsTransport(
  { connection, token, timeoutMs = 30_000 }: NatsTransportOptions,
): Transport {
  const headers = token === undefined
    ? {}
    : { headers: encodeHeaderLines(`authorization: Bearer ${token}\r\n`) };
  return async (name, input) => {
    try {
      // `headers` is passed on by the client library; the part of it that is written out here is smaller.
      const options = { timeout: timeoutMs, ...headers };
      const reply = await connection.request(rpcSubject(name), JSON.stringify(input), options);
      const body: unknown = JSON.parse(decoder.decode(reply.data));
      const failed = errorEnvelopeSchema.safeParse(body);
      return failed.success ? err(fromEnvelope(failed.data)) : ok(body);
    } catch (cause) {
      return err(unanswered(name, cause));
    }
  };
}

/** Nobody there is certain: nothing was done. Silence is not: it may have been. */
function unanswered(name: string, cause: unknown): AdminError {
  const said = errorMessage(cause);
  const nobody = /no responders/i.test(said) ||
    (cause instanceof Error && cause.name.startsWith("NoResponders"));
  if (nobody) {
    return new AdminError("unavailable", `Cannot do ${name}: no admin answers, is one running?`);
  }
  const code = isRetryable(cause) ? "unconfirmed" : "unavailable";
  return new AdminError(code, `Cannot do ${name}: no answer, ${said}`);
}
