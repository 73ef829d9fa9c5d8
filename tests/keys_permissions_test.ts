import assert from "node:assert/strict";
import { permissionsConfig, serviceInboxPrefix, servicePermissions, valueOrThrow } from "../mod.ts";
import { connectNats, provision } from "../nats/mod.ts";
import { startNatsServer } from "../testing/mod.ts";
import { within } from "./job_service.ts";
import { acquisition, admission, connectKeys, keyOf, writtenHistory } from "./keys_world.ts";
import { VERSIONS } from "./servers.ts";

function user(service: string): string {
  const permissions = permissionsConfig(servicePermissions(service, ["charge"]));
  return `{ user: ${service}, password: x, ${permissions} }`;
}

const CONFIG = `authorization { users: [
  { user: admin, password: x }
  ${user("billing")}
  ${user("mail")}
] }`;

for (const version of VERSIONS) {
  Deno.test(`keys: the least permissions are enough, for one's own keys [${version}]`, async () => {
    await using server = await startNatsServer({ version, config: CONFIG });
    await using admin = await connectNats({ servers: server.url, user: "admin", pass: "x" });
    await provision(admin).orThrow();
    const as = (service: string) => ({
      user: service,
      pass: "x",
      inboxPrefix: serviceInboxPrefix(service),
    });
    await using one = await connectKeys(server, writtenHistory(), {}, as("billing"));
    await using two = await connectKeys(server, writtenHistory(), {}, as("billing"));
    for (const n of [1, 2]) valueOrThrow(await one.keys.admit(admission(n)));
    valueOrThrow(await one.keys.acquire(acquisition(1)));
    const { promise: waits, resolve: onWait } = Promise.withResolvers<void>();
    const { signal } = new AbortController();
    const taken = two.turns.take(acquisition(2), { signal, onWait });
    await within("waiting", waits);
    valueOrThrow(await one.keys.release(keyOf(), acquisition(1)));
    assert.equal(valueOrThrow(await within("turn", taken, 4_000)).kind, "acquired", "woken");
    await using other = await connectKeys(server, writtenHistory(), {}, as("mail"));
    const denied = await other.keys.admit(admission(3));
    assert.equal(denied.ok === false && denied.error.reason, "refused", "another service's keys");
  });
}
