/** A thread that kills its process, so many milliseconds after it is told to. */

self.addEventListener("message", (message) => {
  if (!(message instanceof MessageEvent)) return;
  const until = performance.now() + Number(message.data);
  // Not a timer: a timer's steps are as long as some of the work that is to be interrupted.
  while (performance.now() < until);
  Deno.kill(Deno.pid, "SIGKILL");
});
