/** A worker as a process of its own; `job_processes.ts` starts it and talks with it. */

import { connectService } from "../mod.ts";
import { defineWork, openChild } from "./job_processes.ts";

const start = Promise.withResolvers<void>();
const release = Promise.withResolvers<void>();
const terminated = Promise.withResolvers<void>();
const { settings, say } = openChild(({ what }) => {
  if (what === "start") start.resolve();
  if (what === "release") release.resolve();
});
const { url, instanceId, mode, drainMs, workMs } = settings;
const onTerminate = () => terminated.resolve();

const service = await connectService(defineWork(settings.queue), {
  servers: url,
  instanceId,
  drainMs,
}).orThrow();
service.jobs.work.handle(async ({ job, signal }) => {
  const { how } = job.payload;
  const result = { by: instanceId, tries: job.tries };
  if (how === "quick") return result;
  say({ what: "running", jobId: job.id });
  if (mode === "die") Deno.kill(Deno.pid, "SIGKILL");
  if (mode === "hold") {
    const aborted = new Promise<never>((_, reject) => {
      if (how === "polite") signal.addEventListener("abort", () => reject(signal.reason));
    });
    await Promise.race([how === "brief" ? terminated.promise : release.promise, aborted]);
  } else if (workMs > 0) {
    await new Promise((resolve) => setTimeout(resolve, workMs));
  }
  say({ what: "done", jobId: job.id });
  return result;
});
say({ what: "ready" });
await start.promise;
await service.start().orThrow();
Deno.addSignalListener("SIGTERM", onTerminate);
say({ what: "started" });
await service.wait();
Deno.removeSignalListener("SIGTERM", onTerminate);
say({ what: "stopped" });
