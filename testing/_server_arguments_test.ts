import assert from "node:assert/strict";
import { serverArguments } from "./_server_arguments.ts";

const settings = { name: "a", port: 20001, folder: "/tmp/x", hasConfig: false };

Deno.test("serverArguments() listens on loopback and stores in the folder", () => {
  assert.equal(
    serverArguments(settings).join(" "),
    "-n a -a 127.0.0.1 -p 20001 -m -1 -js -sd /tmp/x/store --ports_file_dir /tmp/x/ports",
  );
});

Deno.test("serverArguments() names the configuration file only when there is one", () => {
  const line = serverArguments({ ...settings, hasConfig: true }).join(" ");
  assert.ok(line.startsWith("-c /tmp/x/server.conf "));
});

Deno.test("serverArguments() routes to every node, itself too", () => {
  const routes = { clusterName: "c", port: 20011, peers: [20010, 20011, 20012] };
  const line = serverArguments({ ...settings, routes }).join(" ");
  assert.ok(line.endsWith(
    "--cluster_name c --cluster nats://127.0.0.1:20011 " +
      "--routes nats://127.0.0.1:20010,nats://127.0.0.1:20011,nats://127.0.0.1:20012",
  ));
});
