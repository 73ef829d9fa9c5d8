/**
 * The admin over NATS: requests on `rpc.v1.Jobs.<Name>` with JSON in and out, shared among replicas.
 *
 * @module
 */

import type { Connection, Message } from "../nats/mod.ts";
import { err, ok, parseRpcSubject, type Result, RPC_FILTER } from "../protocol/mod.ts";
import type { Authenticate } from "./authenticate.ts";
import { callProcedure } from "./call.ts";
import { AdminError, toEnvelope } from "./errors.ts";
import { CAPABILITIES, type Identity } from "./identity.ts";
import type { AdminPorts } from "./ports.ts";
import { isProcedureName } from "./procedures.ts";

/** How requests are answered. */
export interface NatsHostOptions {
  /** Where requests come from. */
  readonly connection: Connection;
  /** The rest of the system. */
  readonly ports: AdminPorts;
  /** Tells who asks; left out, whoever the server lets publish these requests may do everything. */
  readonly authenticate?: Authenticate;
  /** The largest request that is read; 256 KiB. */
  readonly maxBodyBytes?: number;
  /** Told what a procedure threw. */
  readonly onFault?: (what: string, fault: unknown) => void;
}

/** A host that answers. */
export interface NatsHost extends AsyncDisposable {
  /** Takes no more requests, and resolves when those under way are answered. */
  stop(): Promise<void>;
}

/** Replicas share the requests. */
const GROUP = "trellis-jobs-admin";
const MAX_BODY_BYTES = 256 * 1024;
/** What a server takes when it does not say. */
const SMALLEST_MAX_PAYLOAD = 1024 * 1024;
/** Who asks when nobody is asked who they are. */
const ANYBODY: Identity = { actor: "anonymous (NATS)", capabilities: CAPABILITIES };
const decoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

/** Starts to answer. */
export function startNatsHost(options: NatsHostOptions): NatsHost {
  const { connection } = options;
  const underWay = new Set<Promise<void>>();
  const subscription = connection.subscribe(RPC_FILTER, {
    queue: GROUP,
    callback(error, message) {
      if (error !== null || !isInbox(message.reply)) return;
      const answering = respond(options, message, message.reply).finally(() =>
        underWay.delete(answering)
      );
      underWay.add(answering);
    },
  });
  const stop = async (): Promise<void> => {
    if (!connection.isClosed()) await subscription.drain();
    await Promise.all(underWay);
  };
  return { stop, [Symbol.asyncDispose]: stop };
}

/**
 * Answers go to inboxes only. A reply subject is the caller's to choose, and the answer is published
 * with the admin's rights: to a subject of the server's API it would be a command.
 */
function isInbox(reply: string | undefined): reply is string {
  return reply?.startsWith("_INBOX") === true;
}

async function respond(
  options: NatsHostOptions,
  message: Message,
  reply: string,
): Promise<void> {
  const { connection, onFault = () => {} } = options;
  const maxReplyBytes = connection.info?.max_payload ?? SMALLEST_MAX_PAYLOAD;
  const result = await handle(options, message, maxReplyBytes).catch((fault: unknown) => {
    onFault(message.subject, fault);
    return err(new AdminError("internal", "Cannot answer: the admin failed, its log says why"));
  });
  const body = encoder.encode(JSON.stringify(result.ok ? result.value : toEnvelope(result.error)));
  if (connection.isClosed()) return;
  if (body.length <= maxReplyBytes) return connection.publish(reply, body);
  const message_ = `Cannot answer over NATS: the answer has ${body.length} bytes, the server ` +
    `takes ${maxReplyBytes}; ask for less, or over HTTP`;
  const tooLarge = toEnvelope(new AdminError("too_large", message_));
  connection.publish(reply, encoder.encode(JSON.stringify(tooLarge)));
}

async function handle(
  options: NatsHostOptions,
  message: Message,
  maxReplyBytes: number,
): Promise<Result<unknown, AdminError>> {
  const { ports, authenticate, maxBodyBytes = MAX_BODY_BYTES, onFault = () => {} } = options;
  const name = parseRpcSubject(message.subject);
  if (!isProcedureName(name)) {
    const why = name === "Watch" ? "it is served over HTTP only" : "there is no such procedure";
    return err(new AdminError("not_found", `Cannot do ${name}: ${why}`));
  }
  const header = message.headers?.get("authorization");
  const identity = authenticate === undefined ? ok(ANYBODY) : await authenticate(header);
  if (!identity.ok) return identity;
  if (message.data.length > maxBodyBytes) {
    const sizes = `it has ${message.data.length} bytes, at most ${maxBodyBytes} are allowed`;
    return err(new AdminError("too_large", `Cannot read the request: ${sizes}`));
  }
  const input = readJson(message.data);
  if (!input.ok) return input;
  return await callProcedure(name, input.value, {
    identity: identity.value,
    ports,
    // Room for what stands around the documents of a list.
    maxReplyBytes: maxReplyBytes * 0.9,
    onFault,
  });
}

function readJson(data: Uint8Array): Result<unknown, AdminError> {
  if (data.length === 0) return ok({});
  try {
    return ok(JSON.parse(decoder.decode(data)));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    return err(new AdminError("validation", `Cannot read the request: ${why}`));
  }
}
