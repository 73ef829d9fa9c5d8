import assert from "node:assert/strict";
import { compareVersions, fits, parseVersion, versionWanted } from "./_versions.ts";

Deno.test("parseVersion() reads what nats-server prints", () => {
  assert.equal(parseVersion("nats-server: v2.15.1\n"), "2.15.1");
  assert.equal(parseVersion("nats-server: v2.12.0-RC.4"), "2.12.0-RC.4");
  assert.equal(parseVersion("command not found"), undefined);
  assert.equal(parseVersion("v20.19.2"), undefined);
});

Deno.test("compareVersions() compares numbers, not letters", () => {
  assert.ok(compareVersions("2.9.10", "2.10.0") < 0);
  assert.ok(compareVersions("2.15.1", "2.12.0") > 0);
  assert.equal(compareVersions("2.10.27", "2.10.27"), 0);
});

Deno.test("fits() takes 2.12 and later for newest, and only 2.10 for floor", () => {
  assert.deepEqual(
    ["2.9.10", "2.10.27", "2.11.9", "2.12.0", "3.0.0"].map((v) => fits(v, "newest")),
    [
      false,
      false,
      false,
      true,
      true,
    ],
  );
  assert.deepEqual(["2.9.10", "2.10.0", "2.10.27", "2.11.0"].map((v) => fits(v, "floor")), [
    false,
    true,
    true,
    false,
  ]);
});

Deno.test("versionWanted() pins releases that fit their own version", () => {
  for (const name of ["newest", "floor"] as const) {
    assert.ok(fits(versionWanted(name).release, name));
  }
});
