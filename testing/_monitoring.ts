/** What a node of a cluster knows of the JetStream meta group. */
export interface MetaGroup {
  /** The name of the leader; empty while there is none. */
  readonly leader: string;
  readonly size: number;
  /** How many other nodes are online and up to date; only the leader knows. */
  readonly currentPeers: number;
}

/** Whether a server calls itself healthy: JetStream recovered, and its streams caught up. */
export async function isHealthy(monitoringUrl: string): Promise<boolean> {
  return await read(`${monitoringUrl}/healthz`) !== undefined;
}

/** Asks a server about the meta group; `undefined` when it does not answer or has none. */
export async function readMetaGroup(monitoringUrl: string): Promise<MetaGroup | undefined> {
  const group = field(await read(`${monitoringUrl}/jsz`), "meta_cluster");
  if (group === undefined) return undefined;
  const [leader, size] = [field(group, "leader"), field(group, "cluster_size")];
  return {
    leader: typeof leader === "string" ? leader : "",
    size: typeof size === "number" ? size : 0,
    currentPeers:
      list(field(group, "replicas")).filter((replica) =>
        field(replica, "current") === true && field(replica, "offline") !== true
      ).length,
  };
}

/**
 * How many route connections a server has to each of these others, and how many it wants at least:
 * its pool, and one more for the system account. `undefined` when it does not answer.
 */
export async function readRoutes(
  monitoringUrl: string,
  others: readonly string[],
): Promise<{ wanted: number; counts: number[] } | undefined> {
  const [routes, state] = await Promise.all([
    read(`${monitoringUrl}/routez`),
    read(`${monitoringUrl}/varz`),
  ]);
  const poolSize = field(field(state, "cluster"), "pool_size");
  if (routes === undefined || state === undefined) return undefined;
  const names = list(field(routes, "routes")).map((route) => field(route, "remote_name"));
  return {
    wanted: typeof poolSize === "number" && poolSize > 0 ? poolSize + 1 : 1,
    counts: others.map((other) => names.filter((name) => name === other).length),
  };
}

/** Whether this server takes itself for the leader of the stream, in any account. */
export async function leadsStream(
  monitoringUrl: string,
  serverName: string,
  stream: string,
): Promise<boolean> {
  const answer = await read(`${monitoringUrl}/jsz?accounts=true&streams=true`);
  return list(field(answer, "account_details"))
    .flatMap((account) => list(field(account, "stream_detail")))
    .some((detail) =>
      field(detail, "name") === stream &&
      field(field(detail, "cluster"), "leader") === serverName
    );
}

/** A server that is gone, or paused, answers nothing: that is not worth an error here. */
async function read(url: string): Promise<unknown> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    const answer: unknown = await response.json();
    return response.ok ? answer : undefined;
  } catch {
    return undefined;
  }
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
