/** A client as a process of its own: it waits for jobs of which it knows the id and nothing else. */

import { connectService } from "../mod.ts";
import { defineWork, openChild } from "./job_processes.ts";

const aborts = new Map<string, AbortController>();
const { settings, say } = openChild(({ what, jobId, timeoutMs }) => {
  const controller = aborts.get(jobId) ?? new AbortController();
  aborts.set(jobId, controller);
  if (what === "abort") return controller.abort();
  const { signal } = controller;
  const waiting = service.jobs.work.ref(jobId).wait({
    signal,
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  say({ what: "waiting", jobId });
  waiting.then((ended) => {
    const outcome = ended.ok ? ended.value.state : ended.error.reason;
    say({ what: "ended", jobId, outcome });
  });
});

const service = await connectService(defineWork(), { servers: settings.url }).orThrow();
say({ what: "ready" });
await service.wait();
