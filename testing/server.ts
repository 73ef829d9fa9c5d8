import { type NatsCluster, type NatsClusterOptions, startNatsCluster } from "./cluster.ts";
import { findNatsServer } from "./find_nats_server.ts";
import { launchServer, type NatsServer } from "./nats_server.ts";
import { pickPorts } from "./_ports.ts";
import { PortTakenError } from "./_server_process.ts";
import type { NatsServerVersion } from "./_versions.ts";

/** How {@linkcode startNatsServer} starts a server. */
export interface NatsServerOptions {
  /** `"newest"` (the default) or `"floor"`, the oldest version that is supported. */
  readonly version?: NatsServerVersion;
  /**
   * More configuration in nats-server's own language: accounts, `max_payload`, `websocket {}`, a
   * `jetstream {}` with limits. Port, address, name and store cannot be changed by it. A listener
   * of its own (`websocket`, `mqtt`) is on all addresses unless it names a `host`.
   */
  readonly config?: string;
  /** How long the server may take until it is ready: 30 seconds unless set. */
  readonly startTimeoutMs?: number;
  /** Told one line per step when a server has to be fetched; written to standard error unless set. */
  readonly onProgress?: (line: string) => void;
}

/** How many ports are tried before the machine counts as full. */
const portAttempts = 20;

/**
 * Starts a real nats-server with JetStream, on 127.0.0.1 and a free port, in a temporary folder.
 *
 * It resolves when the server accepts clients, some 50 ms later; the first call on a machine may
 * fetch the binary (see `findNatsServer()`). The server ends with this process even when the
 * process is killed, and does not keep it alive. With `cluster: true` it starts a whole cluster.
 *
 * @example
 * ```ts
 * import { startNatsServer } from "@trellis/jobs/testing";
 *
 * await using server = await startNatsServer({ config: "max_payload: 2MB" });
 * await server.kill();
 * await server.restart();
 * ```
 */
export function startNatsServer(
  options: NatsClusterOptions & { readonly cluster: true },
): Promise<NatsCluster>;
/** Starts one server. */
export function startNatsServer(
  options?: NatsServerOptions & { readonly cluster?: false },
): Promise<NatsServer>;
export function startNatsServer(
  options: NatsClusterOptions & { readonly cluster?: boolean } = {},
): Promise<NatsServer | NatsCluster> {
  return options.cluster === true ? startNatsCluster(options) : startSingleServer(options);
}

async function startSingleServer(options: NatsServerOptions): Promise<NatsServer> {
  const { config, onProgress, startTimeoutMs = 30_000 } = options;
  const found = await findNatsServer(
    options.version,
    onProgress === undefined ? {} : { onProgress },
  );
  for (let attempt = 1;; attempt++) {
    const [port = 0] = pickPorts(1);
    try {
      const name = `trellis-${port}`;
      return await launchServer({ ...found, name, port, config, startTimeoutMs });
    } catch (error) {
      if (!(error instanceof PortTakenError) || attempt === portAttempts) throw error;
    }
  }
}
