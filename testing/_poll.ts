import { setTimeout as delay } from "node:timers/promises";

/** How long and how often {@linkcode poll} looks. */
export interface PollOptions {
  readonly everyMs: number;
  readonly timeoutMs: number;
}

/**
 * Looks again and again until there is a value, and resolves to it, or to `undefined` when the
 * time is over. For what has no event to wait for: files and HTTP answers of another process.
 */
export async function poll<Value>(
  look: () => Promise<Value | undefined>,
  { everyMs, timeoutMs }: PollOptions,
): Promise<Value | undefined> {
  const endsAt = performance.now() + timeoutMs;
  while (true) {
    const value = await look();
    if (value !== undefined || performance.now() >= endsAt) return value;
    await delay(everyMs);
  }
}
