/** SIGTERM and SIGINT, where there is a process that gets them. */

interface ProcessLike {
  on(signal: "SIGTERM" | "SIGINT", react: () => void): unknown;
  off(signal: "SIGTERM" | "SIGINT", react: () => void): unknown;
}

/** Calls back at the first SIGTERM or SIGINT; the returned function stops listening. */
export function onStopSignal(react: () => void): () => void {
  const host = hostProcess();
  if (host === undefined) return () => {};
  const signals = ["SIGTERM", "SIGINT"] as const;
  for (const signal of signals) host.on(signal, react);
  return () => {
    for (const signal of signals) host.off(signal, react);
  };
}

/** Node and Deno have a global `process`; the edge has none, and no signals either. */
function hostProcess(): ProcessLike | undefined {
  const host: unknown = Reflect.get(globalThis, "process");
  return isProcess(host) ? host : undefined;
}

function isProcess(host: unknown): host is ProcessLike {
  return typeof host === "object" && host !== null && "on" in host &&
    typeof host.on === "function" && "off" in host && typeof host.off === "function";
}
