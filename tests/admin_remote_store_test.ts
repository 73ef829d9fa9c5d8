import assert from "node:assert/strict";
import { openRemoteStore, serveStore } from "../admin/mod.ts";
import { storeConformance } from "../projection/conformance.ts";
import { openSqliteStore } from "../projection/sqlite/mod.ts";

for (const check of storeConformance()) {
  Deno.test(`openRemoteStore(): ${check.name}`, async () => {
    await using rows = openSqliteStore({ path: ":memory:" });
    const app = serveStore({ store: rows, token: "secret" });
    await using store = openRemoteStore({ url: "http://rows", token: "secret", fetch: app.fetch });
    await check.run(store);
  });
}

Deno.test("serveStore() answers only who knows the token, and only what the port has", async () => {
  await using rows = openSqliteStore({ path: ":memory:" });
  const app = serveStore({ store: rows, token: "secret" });
  const status = async (path: string, token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await app.fetch(
      new Request(`http://rows/${path}`, { method: "POST", headers, body: "[]" }),
    )).status;
  };
  assert.equal(await status("position", "secret"), 200);
  assert.equal(await status("position", "guess"), 401);
  assert.equal(await status("constructor", "secret"), 404);
  const wrong = openRemoteStore({ url: "http://rows", token: "guess", fetch: app.fetch });
  await assert.rejects(wrong.position(), /Cannot ask the store at http:\/\/rows: status 401/);
});
