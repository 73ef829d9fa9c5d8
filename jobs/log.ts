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

/** Makes a hook that never throws: what an entry is about must go on. */
export function guardLog(log: JobsLog): JobsLog {
  return (level, what, details) => {
    try {
      log(level, what, details);
    } catch {
      // Whoever listens badly hears nothing; there is nobody else to tell.
    }
  };
}

/** Says nothing. */
export function silentLog(): void {}
