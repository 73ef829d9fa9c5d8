import { findNatsServer, type FoundNatsServer } from "./find_nats_server.ts";
import { launchServer, type NatsServer } from "./nats_server.ts";
import { isHealthy, leadsStream, readMetaGroup, readRoutes } from "./_monitoring.ts";
import { canPlaceStreams } from "./_placement.ts";
import { poll } from "./_poll.ts";
import { pickPorts } from "./_ports.ts";
import { PortTakenError } from "./_server_process.ts";
import type { NatsServerOptions } from "./server.ts";

/** How {@linkcode startNatsCluster} starts a cluster; the configuration goes to every node. */
export interface NatsClusterOptions extends NatsServerOptions {
  /** How many servers: three unless set. */
  readonly nodes?: number;
}

/** Several real nats-servers that form one JetStream cluster on loopback. */
export interface NatsCluster extends AsyncDisposable {
  /** The servers; each can be killed and restarted by itself. */
  readonly servers: readonly NatsServer[];
  /** The addresses of all servers, for a client's `servers` option. */
  readonly urls: readonly string[];
  /** The version of the servers, for example `2.15.1`. */
  readonly version: string;
  /**
   * Resolves when JetStream has a leader and every server that runs is up to date; throws after
   * `timeoutMs` (30 seconds). `restart()` of a server does not wait for this.
   */
  ready(timeoutMs?: number): Promise<void>;
  /** The server that leads the stream, waiting up to `timeoutMs` (30 seconds) for an election. */
  leaderOf(stream: string, timeoutMs?: number): Promise<NatsServer>;
  /** The server that leads JetStream itself, waiting up to `timeoutMs` (30 seconds) for one. */
  metaLeader(timeoutMs?: number): Promise<NatsServer>;
  /** Stops all servers and removes their folders; doing it again does nothing. */
  stop(): Promise<void>;
}

const startAttempts = 10;
/**
 * How long a cluster may take to form before it is started anew, doubled each time. Most take less
 * than a second. In about 4 of 100 starts of 2.15.1 the first vote is split, and the next is
 * seconds away; of 300 starts of 2.10.27, 1 counted one member less than it had, for good.
 */
const firstPatienceMs = 1_500;
const everyMs = 25;

/**
 * Starts a JetStream cluster (three servers unless `nodes` says otherwise) on 127.0.0.1.
 *
 * It resolves when there is a leader and all servers are up to date, so that a stream with three
 * replicas can be created at once; that takes about a second.
 *
 * @example
 * ```ts
 * import { startNatsCluster } from "@trellis/jobs/testing";
 *
 * await using cluster = await startNatsCluster();
 * const leader = await cluster.metaLeader();
 * await leader.kill();
 * await leader.restart();
 * await cluster.ready();
 * ```
 */
export async function startNatsCluster(options: NatsClusterOptions = {}): Promise<NatsCluster> {
  const { nodes = 3, onProgress, startTimeoutMs = 30_000 } = options;
  if (!Number.isInteger(nodes) || nodes < 2) {
    throw new RangeError(`Cannot start a cluster: nodes must be an integer from 2, not ${nodes}`);
  }
  const found = await findNatsServer(
    options.version,
    onProgress === undefined ? {} : { onProgress },
  );
  const endsAt = performance.now() + startTimeoutMs;
  for (let patienceMs = firstPatienceMs;; patienceMs *= 2) {
    const cluster = controlCluster(await startServers(found, nodes, options), found.version);
    try {
      await cluster.ready(Math.min(patienceMs, endsAt - performance.now()));
      return cluster;
    } catch (error) {
      await cluster.stop();
      if (performance.now() >= endsAt) throw error;
    }
  }
}

/**
 * Starts the servers one after the other, each when the one before it listens.
 *
 * Servers that start at the same moment call each other at the same moment, and each may hang up
 * on the other's call as a duplicate: then nothing connects the two until they try again a second
 * later. The servers must know each other's ports, so one that is taken means new ports for all.
 */
async function startServers(
  found: FoundNatsServer,
  nodes: number,
  { config, startTimeoutMs = 30_000 }: NatsClusterOptions,
): Promise<NatsServer[]> {
  for (let attempt = 1;; attempt++) {
    const ports = pickPorts(2 * nodes);
    const peers = ports.slice(nodes);
    const clusterName = `trellis-${peers[0]}`;
    const servers: NatsServer[] = [];
    try {
      for (const [index, port] of peers.entries()) {
        const own = { name: `node-${index + 1}`, port: ports[index] ?? 0 };
        const routes = { clusterName, port, peers };
        servers.push(await launchServer({ ...found, ...own, config, startTimeoutMs, routes }));
      }
      return servers;
    } catch (error) {
      await Promise.all(servers.map((server) => server.stop()));
      if (!(error instanceof PortTakenError) || attempt === startAttempts) throw error;
    }
  }
}

function controlCluster(servers: readonly NatsServer[], version: string): NatsCluster {
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  const firstLeader = async (what: string, timeoutMs: number, look: LeaderTest) => {
    const leader = await poll(() => firstThat(servers, look), { everyMs, timeoutMs });
    if (leader !== undefined) return leader;
    throw new Error(`Cannot find the leader of ${what}: there was none for ${timeoutMs} ms`);
  };
  return {
    servers,
    urls: servers.map((server) => server.url),
    version,
    async ready(timeoutMs = 30_000) {
      let missing = "";
      const ready = await poll(async () => {
        missing = await whatIsMissing(servers);
        return missing === "" ? true : undefined;
      }, { everyMs, timeoutMs });
      if (ready !== undefined) return;
      throw new Error(`Cannot use the cluster: ${missing}, after ${Math.round(timeoutMs)} ms`);
    },
    leaderOf: (stream, timeoutMs = 30_000) =>
      firstLeader(
        `stream ${stream}`,
        timeoutMs,
        (server) => leadsStream(server.monitoringUrl, server.name, stream),
      ),
    metaLeader: (timeoutMs = 30_000) =>
      firstLeader(
        "JetStream",
        timeoutMs,
        async (server) => (await readMetaGroup(server.monitoringUrl))?.leader === server.name,
      ),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Whether a server takes itself for the leader: what others say of it may be out of date. */
type LeaderTest = (server: NatsServer) => Promise<boolean>;

async function firstThat(
  servers: readonly NatsServer[],
  test: LeaderTest,
): Promise<NatsServer | undefined> {
  const running = servers.filter((server) => server.running);
  const answers = await Promise.all(running.map(test));
  return running.find((_, index) => answers[index]);
}

/** What keeps the cluster from being ready, in words; empty when nothing does. */
async function whatIsMissing(servers: readonly NatsServer[]): Promise<string> {
  const running = servers.filter((server) => server.running);
  const groups = await Promise.all(running.map((server) => readMetaGroup(server.monitoringUrl)));
  const leaders = groups.map((group) => group?.leader ?? "");
  const [leader = ""] = leaders;
  if (leader === "" || leaders.some((other) => other !== leader)) {
    return `the servers do not agree on a leader (${
      leaders.map((name) => name || "none").join(", ")
    })`;
  }
  const own = groups[running.findIndex((server) => server.name === leader)];
  if (own === undefined) return `the leader ${leader} does not run`;
  const sizes = groups.map((group) => group?.size ?? 0);
  if (sizes.some((size) => size !== servers.length)) {
    return `the servers count ${sizes.join(", ")} members instead of ${servers.length}`;
  }
  if (own.currentPeers < running.length - 1) {
    return `only ${own.currentPeers} followers of ${leader} are up to date`;
  }
  const healthy = await Promise.all(running.map((server) => isHealthy(server.monitoringUrl)));
  const ill = running.filter((_, index) => !healthy[index]).map((server) => server.name);
  if (ill.length > 0) return `${ill.join(", ")} recover still`;
  if (!await routesComplete(running)) return "routes between the servers are missing";
  // A server that was ended in good order is offline rightly.
  if (running.length < servers.length) return "";
  const placing = await Promise.all(servers.map(({ port }) => canPlaceStreams(port, 500)));
  return placing.every(Boolean) ? "" : "JetStream cannot place streams on every server";
}

/**
 * Whether every running server has all its connections to every other. JetStream has a leader long
 * before that, and until then a reply can be lost: the server that sends it does not yet know, on
 * the connection for that account, that somebody waits. All pairs must have the same number,
 * because accounts may have connections of their own.
 */
async function routesComplete(running: readonly NatsServer[]): Promise<boolean> {
  const names = running.map((server) => server.name);
  const answers = await Promise.all(
    running.map((server) =>
      readRoutes(server.monitoringUrl, names.filter((name) => name !== server.name))
    ),
  );
  const counts = answers.flatMap((answer) => answer?.counts ?? [0]);
  const wanted = Math.max(...answers.map((answer) => answer?.wanted ?? 1));
  return new Set(counts).size <= 1 && counts.every((count) => count >= wanted);
}
