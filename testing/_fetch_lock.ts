import { rm, stat, utimes, writeFile } from "node:fs/promises";
import process from "node:process";
import { poll } from "./_poll.ts";

/** How the lock behaves; the times are options so that tests need not wait. */
export interface FetchLockOptions {
  /** Told once, when another process holds the lock. */
  readonly onWait?: () => void;
  /** A lock whose holder has shown no life for so long is taken over. */
  readonly staleMs?: number;
  /** After so long the work is done without the lock. */
  readonly waitMs?: number;
}

/**
 * Does the work while no other process does it, as far as possible.
 *
 * The lock only saves a second download; what makes two downloads at once harmless is that a
 * finished binary is renamed into its place. That is why a lock may simply be taken over when its
 * holder is dead, and ignored when the wait gets too long: no lock can hang a test run.
 */
export async function withFetchLock<Value>(
  path: string,
  work: () => Promise<Value>,
  options: FetchLockOptions = {},
): Promise<Value> {
  const { onWait, staleMs = 10_000, waitMs = 180_000 } = options;
  let waited = false;
  const held = await poll(async () => {
    if (await take(path, staleMs)) return true;
    if (!waited) onWait?.();
    waited = true;
    return undefined;
  }, { everyMs: 100, timeoutMs: waitMs });
  if (held === undefined) return await work();

  const sign = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, staleMs / 5);
  try {
    return await work();
  } finally {
    clearInterval(sign);
    await rm(path, { force: true });
  }
}

async function take(path: string, staleMs: number): Promise<boolean> {
  const status = await stat(path).catch(() => undefined);
  if (status !== undefined && Date.now() - status.mtimeMs > staleMs) {
    await rm(path, { force: true });
  }
  try {
    await writeFile(path, `${process.pid}\n`, { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}
