import assert from "node:assert/strict";
import { Validator } from "@seriousme/openapi-schema-validator";
import { generateApi } from "swagger-typescript-api";
import { openApiDocument } from "../admin/mod.ts";
import { PROCEDURE_NAMES } from "../admin/procedures.ts";
import { startNatsServer } from "../testing/mod.ts";
import { ask, KIND, startMarket, startTestAdmin } from "./admin_world.ts";

Deno.test("the OpenAPI document is accepted by a validator and knows every procedure", async () => {
  const document = openApiDocument();
  const validator = new Validator();
  const { valid, errors } = await validator.validate(JSON.parse(JSON.stringify(document)));
  assert.equal(valid, true, JSON.stringify(errors, null, 2));
  assert.equal(validator.version, "3.1");
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const ids = operations.map(({ operationId }) => operationId);
  assert.deepEqual(ids.sort(), [...PROCEDURE_NAMES, "Watch"].sort());
  const text = JSON.stringify(document);
  const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)];
  const { schemas } = document.components as { schemas: Record<string, unknown> };
  assert.deepEqual(
    references.map((match) => match[1] ?? "").filter((name) => !(name in schemas)),
    [],
  );
});

Deno.test("a client generated from the document lists jobs", async () => {
  await using server = await startNatsServer();
  await using market = await startMarket(server.url);
  await using world = await startTestAdmin(server.url);
  const id = await market.ended(KIND.complete);
  await world.caughtUp();
  await using http = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => world.app.fetch(request),
  );
  const { body } = await ask(world, "GET", "/v1/openapi.json");
  const { files } = await generateApi({
    // The document as it was served; the generator's type of one is another library's.
    spec: body as Parameters<typeof generateApi>[0]["spec"] & object,
    ...{ fileName: "client.ts", output: false, silent: true, httpClientType: "fetch" },
  });
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/client.ts`, files[0]?.fileContent ?? "");
    const script = `import { Api } from "./client.ts";
const api = new Api({ baseUrl: "http://127.0.0.1:${http.addr.port}" });
const { data } = await api.v1.list({ limit: 5, state: ["completed"] });
console.log(data.count, data.entries[0].id);
`;
    await Deno.writeTextFile(`${folder}/script.ts`, script);
    // Unchecked: the generator's own part of the client is not written for Deno's types.
    const run = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--no-config", `${folder}/script.ts`],
      env: { NO_COLOR: "1" },
    });
    const { stdout, stderr } = await run.output();
    const said = new TextDecoder().decode(stdout).trim();
    assert.equal(said, `1 ${id}`, new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the reference page shows every procedure, without script", async () => {
  await using server = await startNatsServer();
  await using world = await startTestAdmin(server.url);
  const { body, headers } = await ask(world, "GET", "/v1/reference");
  assert.match(headers.get("content-type") ?? "", /^text\/html/);
  for (const name of PROCEDURE_NAMES) assert.ok(String(body).includes(`id="${name}"`), name);
  assert.doesNotMatch(String(body), /<script|style=|onclick/);
  assert.equal((await ask(world, "GET", "/v1/reference.css")).status, 200);
});
