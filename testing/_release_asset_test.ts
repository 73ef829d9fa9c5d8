import assert from "node:assert/strict";
import { checksumOf, releaseAsset } from "./_release_asset.ts";

Deno.test("releaseAsset() names the archive of a platform", () => {
  assert.deepEqual(releaseAsset("2.15.1", "linux", "x64"), {
    archive: "nats-server-v2.15.1-linux-amd64.tar.gz",
    binary: "nats-server-v2.15.1-linux-amd64/nats-server",
  });
  assert.deepEqual(releaseAsset("2.10.27", "win32", "arm64"), {
    archive: "nats-server-v2.10.27-windows-arm64.zip",
    binary: "nats-server-v2.10.27-windows-arm64/nats-server.exe",
  });
  assert.equal(releaseAsset("2.15.1", "sunos", "x64"), undefined);
});

Deno.test("checksumOf() finds the file by its whole name", () => {
  const [first, second] = ["A".repeat(64), "b".repeat(64)];
  const sums = `${first}  server.tar.gz.sbom\n${second} *server.tar.gz\nnonsense\n`;
  assert.equal(checksumOf("server.tar.gz", sums), second);
  assert.equal(checksumOf("server.tar.gz.sbom", sums), "a".repeat(64));
  assert.equal(checksumOf("server", sums), undefined);
});
