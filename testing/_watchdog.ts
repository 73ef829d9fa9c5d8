import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";

/** Ends a server and removes its folder when this process dies without doing so itself. */
export interface Watchdog {
  /** Names the process to end; `undefined` when there is none at the moment. */
  guard(pid: number | undefined): void;
  /** Sends the watchdog home: nothing is ended and nothing removed any more. */
  dismiss(): Promise<void>;
}

/**
 * The last line that it read names the server; the end of its input means that the parent is gone,
 * whatever ended it. The number may belong to another process by then, so the command line has to
 * name the folder, which is no one else's. Signals of the terminal are for the parent.
 */
const script = `
trap '' HUP INT TERM
folder=$1
server=none
while read -r line; do server=$line; done
if [ "$server" != none ]; then
  if [ -r "/proc/$server/cmdline" ]; then
    command_line=$(tr '\\000' ' ' <"/proc/$server/cmdline")
  else
    command_line=$(ps -o args= -p "$server")
  fi
  case "$command_line" in
    *"$folder"*) kill -KILL "$server"; sleep 1 ;;
  esac
fi
rm -rf -- "$folder"
`;

/**
 * Starts a watchdog for the server in this temporary folder.
 *
 * A shell that waits on a pipe from this process: the only thing that also notices SIGKILL. There
 * is none on Windows, where only an orderly exit ends the server.
 */
export function startWatchdog(folder: string): Watchdog {
  if (process.platform === "win32") return { guard() {}, dismiss: () => Promise.resolve() };
  const shell = spawn("sh", ["-c", script, "trellis-watchdog", folder], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  const gone = once(shell, "exit").catch(() => {});
  // If someone ended the watchdog, the server is merely unguarded.
  shell.on("error", () => {});
  shell.stdin.on("error", () => {});
  shell.unref();
  if ("unref" in shell.stdin && typeof shell.stdin.unref === "function") shell.stdin.unref();
  return {
    guard(pid) {
      shell.stdin.write(`${pid ?? "none"}\n`);
    },
    async dismiss() {
      if (shell.pid === undefined) return;
      shell.ref();
      shell.kill("SIGKILL");
      await gone;
      shell.stdin.destroy();
    },
  };
}
