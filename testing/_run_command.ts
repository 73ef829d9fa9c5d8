import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";

/** The variables a search or a command sees; a plain object, so that tests can pass their own. */
export type Environment = { readonly [name: string]: string | undefined };

/** How a command ended. */
export interface CommandResult {
  readonly succeeded: boolean;
  /** Standard output and standard error, one after the other. */
  readonly output: string;
}

/** How a command is run. */
export interface RunCommandOptions {
  readonly workingFolder?: string;
  readonly environment?: Environment;
  readonly timeoutMs?: number;
}

/**
 * Runs a command to its end and never throws: a command that cannot be started, fails or takes
 * longer than `timeoutMs` (two minutes) has not succeeded, and `output` says why.
 */
export function runCommand(
  path: string,
  commandArguments: readonly string[],
  options: RunCommandOptions = {},
): Promise<CommandResult> {
  const { workingFolder, environment = process.env, timeoutMs = 120_000 } = options;
  const settings = {
    env: { ...environment },
    timeout: timeoutMs,
    killSignal: "SIGKILL",
    maxBuffer: 16 * 1024 * 1024,
    ...(workingFolder === undefined ? {} : { cwd: workingFolder }),
  } as const;
  return new Promise((resolve) => {
    try {
      execFile(path, [...commandArguments], settings, (error, stdout, stderr) => {
        const words = `${stdout}${stderr}`;
        const output = words.trim() === "" && error !== null ? error.message : words;
        resolve({ succeeded: error === null, output });
      });
    } catch (error) {
      // Some runtimes throw at once for a file that is not executable.
      resolve({ succeeded: false, output: error instanceof Error ? error.message : String(error) });
    }
  });
}

/** The path of an executable on `PATH`, or `undefined`. */
export function findExecutable(name: string, environment: Environment): string | undefined {
  const file = process.platform === "win32" ? `${name}.exe` : name;
  const folders = (environment["PATH"] ?? environment["Path"] ?? "").split(delimiter);
  return folders.filter(Boolean).map((folder) => join(folder, file)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
