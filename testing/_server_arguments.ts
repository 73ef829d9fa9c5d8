/** Where a node of a cluster meets the others. */
export interface ClusterRoutes {
  readonly clusterName: string;
  readonly port: number;
  /** The route ports of all nodes. */
  readonly peers: readonly number[];
}

/** What the command line of a server is made of. */
export interface ServerSettings {
  readonly name: string;
  readonly port: number;
  /** The server's temporary folder; everything it writes is below it. */
  readonly folder: string;
  readonly hasConfig: boolean;
  readonly routes?: ClusterRoutes;
}

/**
 * The places below a server's folder.
 *
 * Slashes also on Windows, which takes them, while its own separator would need escaping.
 */
export function placesIn(
  folder: string,
): { store: string; ports: string; config: string; log: string } {
  return {
    store: `${folder}/store`,
    ports: `${folder}/ports`,
    config: `${folder}/server.conf`,
    log: `${folder}/server.log`,
  };
}

/**
 * Writes the command line of a server.
 *
 * Everything that is ours is a flag and nothing is configuration, because flags win: a user's
 * configuration may have a `jetstream {}` or `listen` of its own, and the server still stores in
 * its temporary folder and listens on loopback only.
 */
export function serverArguments(settings: ServerSettings): string[] {
  const { name, port, folder, hasConfig, routes } = settings;
  const places = placesIn(folder);
  const config = hasConfig ? ["-c", places.config] : [];
  const own = ["-n", name, "-a", "127.0.0.1", "-p", String(port), "-m", "-1"];
  const storage = ["-js", "-sd", places.store, "--ports_file_dir", places.ports];
  return [...config, ...own, ...storage, ...(routes === undefined ? [] : routeArguments(routes))];
}

/**
 * Every node is told all routes, its own too: at its first start a server takes the number of its
 * routes for the size of the cluster, and with one less two nodes would do for a cluster of four.
 */
function routeArguments({ clusterName, port, peers }: ClusterRoutes): string[] {
  const routeUrl = (peer: number) => `nats://127.0.0.1:${peer}`;
  return [
    ...["--cluster_name", clusterName, "--cluster", routeUrl(port)],
    ...["--routes", peers.map(routeUrl).join(",")],
  ];
}
