import assert from "node:assert/strict";
import { lastWords, tellsOfTakenPort } from "./_server_log.ts";

const taken = "[7] [FTL] Error listening on port: 127.0.0.1:1, bind: address already in use\n";

Deno.test("tellsOfTakenPort() knows the server's words, and forgets an earlier start", () => {
  assert.ok(tellsOfTakenPort(`[7] [INF] Starting nats-server\n${taken}`));
  assert.ok(!tellsOfTakenPort("[7] [FTL] Can't start JetStream: no space left on device\n"));
  assert.ok(!tellsOfTakenPort(taken + "[8] [INF] Starting nats-server\n".repeat(5)));
});

Deno.test("lastWords() keeps the end of a long log", () => {
  const log = Array.from({ length: 40 }, (_, index) => `line ${index}`).join("\n") + "\n";
  assert.equal(lastWords(log).split("\n").length, 15);
  assert.ok(lastWords(log).endsWith("  line 39"));
});
