import { randomInt } from "node:crypto";

/**
 * Picks distinct ports at random, below those that operating systems hand out by themselves.
 *
 * A server that was killed has to get its port back. From the range for outgoing connections the
 * system could give it away meanwhile, even to a client that tries to reconnect to it. That two
 * servers pick the same port is rare, and the second notices when it starts: pick again.
 */
export function pickPorts(count: number): number[] {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(randomInt(20_000, 32_000));
  return [...ports];
}
