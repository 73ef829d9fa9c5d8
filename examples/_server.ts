/** Where the examples find NATS: the server that `NATS_URL` names, or one of their own. */

import process from "node:process";
import { startNatsServer } from "../testing/mod.ts";

/** A server to run an example against; one that was started for it is stopped with it. */
export async function exampleServer(): Promise<{ readonly url: string } & AsyncDisposable> {
  const url = process.env["NATS_URL"];
  if (url !== undefined) return { url, [Symbol.asyncDispose]: () => Promise.resolve() };
  return await startNatsServer();
}

/** Prints a line. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A port that nobody uses at this moment. */
export function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}
