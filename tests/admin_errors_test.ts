import assert from "node:assert/strict";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { createAuthenticator, hashToken } from "../admin/mod.ts";
import { connect, headers as natsHeaders } from "@nats-io/transport-node";
import { rpcSubject } from "../protocol/mod.ts";
import { startNatsServer } from "../testing/mod.ts";
import { ask, BASE, KIND, startMarket, startTestAdmin, type TestAdmin } from "./admin_world.ts";
import { testOnBothServers } from "./servers.ts";
import { within } from "./job_service.ts";

const JSON_TYPE = { "content-type": "application/json" };
const NOBODY = "01JZ6N5V4T8Y3K2QX9W7R5M1AB";

interface Failure {
  readonly error: { code: string; name: string; field?: string; state?: string; message: string };
}

async function failure(
  world: Pick<TestAdmin, "app">,
  method: string,
  path: string,
  options: { headers?: HeadersInit; body?: string } = {},
): Promise<[status: number, code: string, field?: string]> {
  const { status, body } = await ask(world, method, path, options);
  const { error } = body as Failure;
  assert.match(error.message, /^Cannot .*[^.]$/s);
  return error.field === undefined ? [status, error.code] : [status, error.code, error.field];
}

testOnBothServers("HTTP refuses what is wrong, and says what and where", async (server) => {
  await using market = await startMarket(server.url);
  await using world = await startTestAdmin(server.url);
  const completed = await market.ended(KIND.complete);
  await world.caughtUp();
  const get = (path: string) => failure(world, "GET", path);
  const post = (path: string, body: string, headers: HeadersInit = JSON_TYPE) =>
    failure(world, "POST", path, { body, headers });

  assert.deepEqual(await get("/v1/jobs"), [400, "validation", "limit"]);
  assert.deepEqual(await get("/v1/jobs?limit=0"), [400, "validation", "limit"]);
  assert.deepEqual(await get("/v1/jobs?limit=501"), [400, "validation", "limit"]);
  assert.deepEqual(await get("/v1/jobs?limit=ten"), [400, "validation", "limit"]);
  assert.deepEqual(await get("/v1/jobs?limit=1.5"), [400, "validation", "limit"]);
  assert.deepEqual(await get("/v1/jobs?limit=5&offset=-1"), [400, "validation", "offset"]);
  assert.deepEqual(await get("/v1/jobs?limit=5&offset=100001"), [400, "validation", "offset"]);
  assert.deepEqual(await get("/v1/jobs?limit=5&offset=1&cursor=3"), [400, "validation", "cursor"]);
  assert.deepEqual(await get("/v1/jobs?limit=5&since=yesterday"), [400, "validation", "since"]);
  assert.deepEqual(await get("/v1/jobs?limit=5&since=2026-02-30T00:00:00Z"), [
    ...[400, "validation", "since"] as const,
  ]);
  assert.deepEqual(await get("/v1/jobs?limit=5&state=done"), [400, "validation", "state.0"]);
  assert.deepEqual(await get("/v1/jobs?limit=5&stat=dead"), [400, "validation", "stat"]);
  assert.deepEqual(await get("/v1/jobs?limit=5&service=a.b"), [400, "validation", "service"]);
  assert.deepEqual(await get("/v1/jobs/one"), [400, "validation", "id"]);
  assert.deepEqual(await get(`/v1/jobs/${NOBODY}`), [404, "not_found"]);
  assert.deepEqual(await get(`/v1/jobs/${NOBODY}/events`), [404, "not_found"]);
  assert.deepEqual(await get("/v1/stats?type=sell"), [400, "validation", "service"]);
  assert.deepEqual(await get("/v1/watch?type=sell"), [400, "validation", "service"]);
  assert.deepEqual(await get("/v1/nothing"), [404, "not_found"]);
  for (const verb of ["retry", "cancel"]) {
    assert.deepEqual(await post(`/v1/jobs/${completed}/${verb}`, "{}"), [409, "wrong_state", "id"]);
    assert.deepEqual(await post(`/v1/jobs/${NOBODY}/${verb}`, ""), [404, "not_found"]);
  }
  for (const verb of ["replay", "dismiss"]) {
    assert.deepEqual(await post(`/v1/dlq/${completed}/${verb}`, "{}"), [409, "wrong_state", "id"]);
  }
  const { body } = await ask(world, "POST", `/v1/jobs/${completed}/retry`, {
    ...{ headers: JSON_TYPE, body: "{}" },
  });
  const { error } = body as Failure;
  assert.deepEqual([error.name, error.state], ["ValidationError", "completed"]);
  assert.deepEqual(await post(`/v1/jobs/${completed}/retry`, "{"), [400, "validation"]);
  assert.deepEqual(await post(`/v1/jobs/${completed}/retry`, "[]"), [400, "validation"]);
  assert.deepEqual(await post(`/v1/jobs/${completed}/retry`, '{"id":"x"}'), [
    ...[400, "validation", "id"] as const,
  ]);
  assert.deepEqual(await post("/v1/jobs/retry", "{}"), [400, "validation", "ids"]);
  assert.deepEqual(await post("/v1/jobs/retry", "{}", { "content-type": "text/plain" }), [
    ...[415, "unsupported_media_type"] as const,
  ]);
  assert.deepEqual(await failure(world, "POST", "/v1/jobs/retry"), [415, "unsupported_media_type"]);
  const large = JSON.stringify({ reason: "x".repeat(300_000) });
  assert.deepEqual(await post(`/v1/jobs/${completed}/cancel`, large), [413, "too_large"]);
  const held = await market.create(KIND.hold);
  await market.begun(held);
  await world.caughtUp();
  assert.deepEqual(await failure(world, "DELETE", `/v1/jobs/${held}`), [409, "wrong_state", "id"]);
});

testOnBothServers("NATS refuses what is wrong with the same words", async (server) => {
  await using market = await startMarket(server.url);
  await using world = await startTestAdmin(server.url);
  const completed = await market.ended(KIND.complete);
  await world.caughtUp();
  await using nc = await connect({ servers: server.url });
  const call = async (name: string, body: string) => {
    const { error } = (await nc.request(rpcSubject(name), body)).json<Failure>();
    return error.field === undefined ? [error.code] : [error.code, error.field];
  };
  assert.deepEqual(await call("List", '{"limit":0}'), ["validation", "limit"]);
  assert.deepEqual(await call("List", '{"limit":"5"}'), ["validation", "limit"]);
  assert.deepEqual(await call("List", '{"limit":5,"offset":-1}'), ["validation", "offset"]);
  assert.deepEqual(await call("List", '{"limit":5,"since":"x"}'), ["validation", "since"]);
  assert.deepEqual(await call("List", "{"), ["validation"]);
  assert.deepEqual(await call("List", "null"), ["validation"]);
  assert.deepEqual(await call("Get", JSON.stringify({ id: NOBODY })), ["not_found"]);
  assert.deepEqual(await call("Retry", JSON.stringify({ id: completed })), ["wrong_state", "id"]);
  assert.deepEqual(await call("Watch", "{}"), ["not_found"]);
  assert.deepEqual(await call("Nothing", "{}"), ["not_found"]);
  assert.deepEqual(await call("toString", "{}"), ["not_found"]);
  assert.deepEqual(await call("Health", JSON.stringify("x".repeat(300_000))), ["too_large"]);
});

testOnBothServers(
  "an answer goes to an inbox only, never where the caller points",
  async (server) => {
    await using world = await startTestAdmin(server.url);
    await using nc = await connect({ servers: server.url });
    // With the admin's rights, an answer published here would remove the whole stream.
    nc.publish(rpcSubject("Health"), "{}", { reply: "$JS.API.STREAM.DELETE.JOBS" });
    const heard = Promise.withResolvers<void>();
    nc.subscribe("elsewhere", { callback: () => heard.reject(new Error("it was answered")) });
    nc.publish(rpcSubject("Health"), "{}", { reply: "elsewhere" });
    await nc.request(rpcSubject("Health"), "{}");
    await nc.flush();
    heard.resolve();
    await heard.promise;
    assert.equal((await world.nats.list({ limit: 1 }).orThrow()).count, 0);
    const { projection } = await world.nats.health({}).orThrow();
    assert.equal(projection.state, "live");
  },
);

testOnBothServers(
  "who asks is known by token or signature, over HTTP and NATS alike",
  async (server) => {
    const { publicKey, privateKey } = await generateKeyPair("ES256");
    const other = await generateKeyPair("ES256");
    const key = { ...await exportJWK(publicKey), kid: "k1", alg: "ES256" };
    // A key that both sides know alike proves nothing, even if somebody publishes one.
    const secret = new TextEncoder().encode("a shared secret of thirty-two bytes!");
    const k = btoa(String.fromCharCode(...secret)).replaceAll("=", "");
    const shared = { kty: "oct", kid: "k2", alg: "HS256", k };
    const authenticate = createAuthenticator({
      tokens: [
        { name: "reader", sha256: await hashToken("read-token"), capabilities: ["admin.read"] },
        {
          name: "boss",
          sha256: await hashToken("all-token"),
          capabilities: ["admin.read", "admin.mutate"],
        },
      ],
      jwt: { jwks: { keys: [key, shared] }, issuer: "https://issuer", audience: "jobs" },
    });
    const claims = { scope: "openid admin.read", iss: "https://issuer", aud: "jobs", sub: "ann" };
    const exp = Math.floor(Date.now() / 1_000) + 3_600;
    const sign = (differing: Record<string, unknown> = {}, signer = privateKey) =>
      new SignJWT({ ...claims, exp, ...differing })
        .setProtectedHeader({ alg: "ES256", kid: "k1" }).sign(signer);
    const withShared = new SignJWT({ ...claims, exp })
      .setProtectedHeader({ alg: "HS256", kid: "k2" }).sign(secret);
    await using market = await startMarket(server.url);
    await using world = await startTestAdmin(server.url, { authenticate });
    await using nc = await connect({ servers: server.url });
    const dead = await market.ended(KIND.die);
    await world.caughtUp();
    const overHttp = async (name: "list" | "dismiss", token?: string) => {
      const headers = {
        ...JSON_TYPE,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      };
      const path = name === "list" ? "/v1/jobs?limit=1" : `/v1/dlq/${NOBODY}/dismiss`;
      const method = name === "list" ? "GET" : "POST";
      const { status } = await ask(world, method, path, { headers });
      return status;
    };
    const overNats = async (name: string, input: object, token?: string) => {
      const headers = natsHeaders();
      if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
      const reply = await nc.request(rpcSubject(name), JSON.stringify(input), {
        timeout: 5_000,
        headers,
      });
      return reply.json<Partial<Failure>>().error?.code ?? "ok";
    };
    const unsigned = `${btoa('{"alg":"none"}')}.${btoa('{"sub":"ann","scope":"admin.read"}')}.`;
    const cases: [token: string | undefined, list: number, dismiss: number][] = [
      [undefined, 401, 401],
      ["wrong", 401, 401],
      ["read-token", 200, 403],
      ["all-token", 200, 404],
      [await sign(), 200, 403],
      [await sign({ scope: "admin.mutate admin.read" }), 200, 404],
      [await sign({ scope: "" }), 403, 403],
      [await sign({}, other.privateKey), 401, 401],
      [await sign({ exp: exp - 7_200 }), 401, 401],
      [await sign({ exp: undefined }), 401, 401],
      [await sign({ sub: undefined }), 401, 401],
      [await sign({ aud: "another" }), 401, 401],
      [await sign({ iss: "https://another" }), 401, 401],
      [unsigned, 401, 401],
      [await withShared, 401, 401],
    ];
    const codes: Record<number, string> = {
      200: "ok",
      401: "unauthenticated",
      403: "forbidden",
      404: "not_found",
    };
    for (const [token, list, dismiss] of cases) {
      assert.equal(await overHttp("list", token), list, token);
      assert.equal(await overHttp("dismiss", token), dismiss, token);
      assert.equal(await overNats("List", { limit: 1 }, token), codes[list]);
      assert.equal(await overNats("DismissDLQ", { id: NOBODY }, token), codes[dismiss]);
    }
    const bearer = { authorization: "Bearer all-token" };
    assert.equal((await ask(world, "GET", "/v1/watch", { headers: bearer })).status, 403);
    assert.equal((await ask(world, "GET", "/metrics")).status, 401);
    assert.equal((await ask(world, "GET", "/metrics", { headers: bearer })).status, 200);
    assert.equal((await ask(world, "GET", "/healthz")).status, 200);
    // Who did it is on the event.
    assert.equal(await overNats("DismissDLQ", { id: dead }, "all-token"), "ok");
    assert.equal((await world.admin.ports.store.getJob(dead))?.job.actor, "boss");
  },
);

Deno.test("without tokens a browser cannot be tricked into asking", async () => {
  await using server = await startNatsServer();
  await using world = await startTestAdmin(server.url);
  const status = async (headers: HeadersInit, url = BASE) =>
    (await world.app.fetch(new Request(`${url}/v1/jobs?limit=1`, { headers }))).status;
  assert.equal(await status({}), 200);
  assert.equal(await status({ origin: BASE, "sec-fetch-site": "same-origin" }), 200);
  assert.equal(await status({ origin: "https://evil.example" }), 403);
  assert.equal(await status({ "sec-fetch-site": "cross-site" }), 403);
  assert.equal(await status({ host: "evil.example" }, "http://evil.example"), 403);
  const { headers } = await ask(world, "GET", "/v1/jobs?limit=1");
  assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'/);
  assert.equal(headers.get("x-content-type-options"), "nosniff");
  assert.equal(headers.get("access-control-allow-origin"), null);
});

Deno.test("createAuthenticator() reads the keys of an identity provider", async () => {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const key = { ...await exportJWK(publicKey), kid: "k1", alg: "ES256" };
  await using provider = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => Response.json({ keys: [key] }),
  );
  const jwks = new URL(`http://127.0.0.1:${provider.addr.port}/jwks.json`);
  const authenticate = createAuthenticator({ jwt: { jwks, issuer: "i", audience: "a" } });
  const token = await new SignJWT({ scope: "admin.stream" }).setProtectedHeader({
    alg: "ES256",
    kid: "k1",
  })
    .setIssuer("i").setAudience("a").setSubject("ann").setExpirationTime("1m").sign(privateKey);
  const identity = await within("an identity", authenticate(`Bearer ${token}`));
  assert.deepEqual(identity, { ok: true, value: { actor: "ann", capabilities: ["admin.stream"] } });
});
