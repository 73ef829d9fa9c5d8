/**
 * `deno task admin`: an admin as a process of its own.
 *
 * @module
 */

import { mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { type Connection, connectNats, errorMessage, provision } from "../../nats/mod.ts";
import { openSqliteStore } from "../../projection/sqlite/mod.ts";
import type { ProjectionStore } from "../../projection/mod.ts";
import { TERMINAL_STATES } from "../../protocol/mod.ts";
import { type Authenticate, createAuthenticator } from "../authenticate.ts";
import { type Admin, startAdmin } from "../runtime/admin.ts";
import { readSettings, type Settings, SettingsError } from "./settings.ts";

const AGAIN_MS = 2_000;

function say(line: string): void {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`);
}

/** Connects, and tries until it can: an admin may be there before its server. */
async function connectPatiently(settings: Settings): Promise<Connection> {
  const { servers, credsFile, user, password, inboxPrefix } = settings;
  for (;;) {
    try {
      return await connectNats({
        servers,
        name: "trellis-jobs-admin",
        ...(credsFile !== undefined && { creds: readFileSync(credsFile, "utf8") }),
        ...(user !== undefined && { user }),
        ...(password !== undefined && { pass: password }),
        ...(inboxPrefix !== undefined && { inboxPrefix }),
      });
    } catch (error) {
      say(
        `Cannot reach NATS at ${servers.join(", ")}: ${errorMessage(error)}; trying again every ` +
          `${AGAIN_MS / 1_000} s`,
      );
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

async function provisionPatiently(connection: Connection): Promise<void> {
  for (;;) {
    const provisioned = await provision(connection);
    if (provisioned.ok) {
      const made = provisioned.value.streams.filter(({ action }) => action === "created");
      if (made.length > 0) say(`made ${made.map(({ name }) => name).join(", ")}`);
      return;
    }
    say(`${provisioned.error.message}; trying again every ${AGAIN_MS / 1_000} s`);
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

function openStore(path: string): ProjectionStore {
  try {
    if (path !== ":memory:") mkdirSync(dirname(path), { recursive: true });
    return openSqliteStore({ path });
  } catch (error) {
    throw new SettingsError(
      `Cannot open the database ${path}: ${errorMessage(error)}; say where with --database or ` +
        "TRELLIS_JOBS_DB_PATH",
    );
  }
}

function authentication({ tokens, jwt }: Settings): Authenticate | undefined {
  if (tokens.length === 0 && jwt === undefined) return undefined;
  return createAuthenticator({ tokens, ...(jwt !== undefined && { jwt }) });
}

function introduce({ host, port, role, database, tokens, jwt, retention }: Settings): void {
  const shown = host.includes(":") ? `[${host}]` : host;
  say(`HTTP on http://${shown}:${port} (reference at /v1/reference), NATS on rpc.v1.Jobs.<Name>`);
  say(`lists in ${database}; ${role === "owner" ? "stands for the owner's seat" : "answers only"}`);
  if (role === "owner" && !retention) say("finished jobs are kept for ever");
  const names = tokens.map(({ name }) => name);
  if (jwt !== undefined) names.push(`whoever ${jwt.issuer} signs for`);
  say(
    names.length > 0
      ? `answers to ${names.join(", ")}`
      : "no authentication: everybody on this machine, and whoever NATS lets ask, may do everything",
  );
}

async function run(settings: Settings): Promise<void> {
  const { role, sharedDatabase, instanceId, inboxPrefix, leaseMs } = settings;
  const store = openStore(settings.database);
  const connection = await connectPatiently(settings);
  if (settings.provision) await provisionPatiently(connection);
  const authenticate = authentication(settings);
  const forEver = Object.fromEntries(TERMINAL_STATES.map((state) => [state, false] as const));
  const admin: Admin = startAdmin({
    ...{ connection, store, role, leaseMs, onNote: say },
    sharedStore: sharedDatabase,
    ...(authenticate !== undefined && { authenticate }),
    ...(instanceId !== undefined && { instanceId }),
    ...(inboxPrefix !== undefined && { inboxPrefix }),
    ...(!settings.retention && { retention: forEver }),
  });
  introduce(settings);
  const stopped = Promise.withResolvers<void>();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => stopped.resolve());
  }
  const server = Deno.serve(
    {
      hostname: settings.host,
      port: settings.port,
      onListen: ({ port }) => say(`ready on port ${port}`),
    },
    (request) => admin.app.fetch(request),
  );
  await Promise.race([stopped.promise, connection.closed()]);
  say("stopping");
  await admin.stop();
  await server.shutdown();
  await connection.close();
  await store[Symbol.asyncDispose]();
  say("stopped");
}

try {
  await run(readSettings(process.argv.slice(2)));
} catch (error) {
  process.stderr.write(`${error instanceof SettingsError ? error.message : error}\n`);
  process.exitCode = 1;
}
