import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const tailBytes = 64 * 1024;

/** Reads the end of a log file, at most 64 KiB of it; empty when there is none. */
export function readLogTail(path: string): string {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return "";
  }
  try {
    const { size } = fstatSync(file);
    const tail = new Uint8Array(Math.min(size, tailBytes));
    const length = readSync(file, tail, 0, tail.length, size - tail.length);
    const text = new TextDecoder().decode(tail.subarray(0, length));
    // The first line of a cut text is most likely only half a line.
    return size > tailBytes ? text.slice(text.indexOf("\n") + 1) : text;
  } finally {
    closeSync(file);
  }
}

/** The last lines of a log: enough for an error message to tell what happened. */
export function lastWords(log: string): string {
  const lines = log.trimEnd().split("\n").slice(-15);
  return lines.map((line) => `  ${line}`).join("\n");
}

/**
 * Whether a server ended because another process listens on one of its ports. Only the last lines
 * count: those before may tell of an earlier start.
 */
export function tellsOfTakenPort(log: string): boolean {
  const end = log.trimEnd().split("\n").slice(-5).join("\n");
  return /\[FTL\].*(address already in use|Only one usage of each socket address)/.test(end);
}
