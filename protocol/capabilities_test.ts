import assert from "node:assert/strict";
import { serverCapabilities } from "./capabilities.ts";
import { valueOrThrow } from "./result.ts";

Deno.test("serverCapabilities() gates each feature on the release that brought it", () => {
  const able = (version: string) =>
    Object.entries(valueOrThrow(serverCapabilities(version))).filter(([, can]) => can === true)
      .map(([name]) => name);
  assert.deepEqual(able("2.10.0"), []);
  assert.deepEqual(able("2.11.4"), ["messageTtl", "consumerPause", "multiLastGet"]);
  assert.equal(able("2.12.0").includes("lifecycleCompareAndSet"), true);
  assert.equal(able("2.13.9").includes("cronSchedules"), false);
  assert.equal(able("2.15.1").length, 7);
  assert.equal(able("3.0.0-beta.1").length, 7);
});

Deno.test("serverCapabilities() refuses an old or unreadable version with a clear sentence", () => {
  for (const version of ["2.9.25", "1.99.0", "0.0.0"]) {
    const refused = serverCapabilities(version);
    assert.equal(refused.ok, false);
    assert.equal(
      refused.error.message,
      `Cannot use this server: nats-server ${version} is too old, 2.10.0 or newer is needed`,
    );
  }
  for (const version of ["", "dev", "2.10"]) assert.equal(serverCapabilities(version).ok, false);
});
