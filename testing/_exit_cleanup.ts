import process from "node:process";

const cleanups = new Set<() => void>();

function cleanUp(): void {
  // Last come, first served: a server ends before the folder that it was given is removed.
  for (const cleanup of [...cleanups].reverse()) cleanup();
}

/**
 * Runs `cleanup` when the process exits in order, until the returned function takes it back.
 *
 * One listener for all of them: a test run starts more servers than a process may have listeners
 * before it warns of a leak.
 */
export function onProcessExit(cleanup: () => void): () => void {
  if (cleanups.size === 0) process.on("exit", cleanUp);
  cleanups.add(cleanup);
  return () => {
    cleanups.delete(cleanup);
    if (cleanups.size === 0) process.off("exit", cleanUp);
  };
}
