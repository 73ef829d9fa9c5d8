/**
 * The structured log hook: silent unless a service listens.
 *
 * @module
 */

/** How loud an entry is. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** Takes a log entry: a word to filter by, and what belongs to it. */
export type JobsLog = (
  level: LogLevel,
  what: string,
  details: Readonly<Record<string, string | number | boolean | undefined>>,
) => void;

/** Says nothing. */
export function silentLog(): void {}
