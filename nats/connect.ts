/**
 * A connection with settings that suit long-running services.
 *
 * @module
 */

import type { Connection } from "./connection.ts";

/**
 * Where and as whom to connect. For anything beyond this, make a connection with the client library
 * and pass that: every function here takes any connection.
 */
export interface ConnectOptions {
  /** One server or several; `nats://127.0.0.1:4222` when left out. */
  readonly servers?: string | readonly string[];
  /** How the server lists this client; `trellis-jobs` when left out. */
  readonly name?: string;
  /** User name, together with `pass`. */
  readonly user?: string;
  /** Password. */
  readonly pass?: string;
  /** Token, instead of user and password. */
  readonly token?: string;
  /** The text of a `.creds` file. */
  readonly creds?: string;
  /** The seed of an NKey. */
  readonly nkeySeed?: string;
  /** TLS with certificates from files; `{}` asks for TLS with the machine's own. */
  readonly tls?: {
    readonly caFile?: string;
    readonly certFile?: string;
    readonly keyFile?: string;
  };
  /** Prefix of reply subjects, for users that may subscribe to their own only. */
  readonly inboxPrefix?: string;
  /** How long the first connect may take; 5 s. */
  readonly timeoutMs?: number;
}

/**
 * Connects over TCP with the node transport, which also runs under Deno and sets TCP_NODELAY.
 *
 * A half-open connection is noticed by pings alone, so they come every 5 s and not every two
 * minutes; a service outlives its server, so reconnecting never gives up.
 */
export async function connectNats(options: ConnectOptions = {}): Promise<Connection> {
  // Asked for here and not above, so that everything else loads where there is no TCP.
  const { connect, credsAuthenticator, nkeyAuthenticator } = await import(
    "@nats-io/transport-node"
  );
  const { servers, timeoutMs, creds, nkeySeed, ...rest } = options;
  const encoder = new TextEncoder();
  return await connect({
    name: "trellis-jobs",
    pingInterval: 5_000,
    timeout: timeoutMs ?? 5_000,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    // Costs a third of a request's speed, for stack traces that lead into the client library.
    noAsyncTraces: true,
    ...rest,
    ...(servers !== undefined && { servers: typeof servers === "string" ? servers : [...servers] }),
    ...(creds !== undefined && { authenticator: credsAuthenticator(encoder.encode(creds)) }),
    ...(nkeySeed !== undefined && { authenticator: nkeyAuthenticator(encoder.encode(nkeySeed)) }),
  });
}
