/**
 * The command line and the environment, read once and checked.
 *
 * @module
 */

import { Command, Option } from "commander";
import { z } from "zod";
import type { JwtGrant, TokenGrant } from "../authenticate.ts";
import { isLoopbackHost } from "../http/guard.ts";
import { CAPABILITIES } from "../identity.ts";

/** How the admin is run. */
export interface Settings {
  /** Servers to connect to. */
  readonly servers: readonly string[];
  /** A `.creds` file. */
  readonly credsFile?: string;
  /** A user name. */
  readonly user?: string;
  /** Its password. */
  readonly password?: string;
  /** Prefix of reply subjects. */
  readonly inboxPrefix?: string;
  /** The database file. */
  readonly database: string;
  /** Whether several admins share it. */
  readonly sharedDatabase: boolean;
  /** The address to listen on. */
  readonly host: string;
  /** The port. */
  readonly port: number;
  /** Whether it stands for the owner's seat. */
  readonly role: "owner" | "rpc-only";
  /** Whether missing streams are made. */
  readonly provision: boolean;
  /** Bearer tokens. */
  readonly tokens: readonly TokenGrant[];
  /** Signed tokens. */
  readonly jwt?: JwtGrant;
  /** Whether finished jobs go after their time. */
  readonly retention: boolean;
  /** How long the owner's lease lasts. */
  readonly leaseMs: number;
  /** This process. */
  readonly instanceId?: string;
}

/** Where rows are kept unless it is said otherwise. */
export const DEFAULT_DATABASE = "/var/lib/trellis/jobs.sqlite";

const commandLine = z.object({
  servers: z.string(),
  creds: z.string().optional(),
  user: z.string().optional(),
  password: z.string().optional(),
  inboxPrefix: z.string().optional(),
  database: z.string(),
  sharedDatabase: z.boolean().default(false),
  bind: z.string(),
  rpcOnly: z.boolean().default(false),
  provision: z.boolean(),
  token: z.array(z.string()).default([]),
  jwksUrl: z.url().optional(),
  jwtIssuer: z.string().optional(),
  jwtAudience: z.string().optional(),
  jwtClaim: z.string().optional(),
  retention: z.boolean(),
  leaseMs: z.coerce.number().int().min(1_000),
  instanceId: z.string().optional(),
});

/** A command line that cannot be. */
export class SettingsError extends Error {}

/** Reads the arguments; prints the help and ends the process where that is asked for. */
export function readSettings(args: readonly string[]): Settings {
  const command = describeCommand();
  command.parse(args, { from: "user" });
  const given = commandLine.parse(command.opts());
  const { host, port } = readBind(given.bind);
  const tokens = given.token.map(readToken);
  const jwt = readJwt(given);
  if (!isLoopbackHost(host) && tokens.length === 0 && jwt === undefined) {
    throw new SettingsError(
      `Cannot listen on ${given.bind} without authentication: give --token or --jwks-url, or bind ` +
        "to 127.0.0.1",
    );
  }
  return {
    servers: given.servers.split(",").map((server) => server.trim()),
    database: given.database,
    sharedDatabase: given.sharedDatabase,
    host,
    port,
    role: given.rpcOnly ? "rpc-only" : "owner",
    provision: given.provision,
    tokens,
    retention: given.retention,
    leaseMs: given.leaseMs,
    ...(jwt !== undefined && { jwt }),
    ...(given.creds !== undefined && { credsFile: given.creds }),
    ...(given.user !== undefined && { user: given.user }),
    ...(given.password !== undefined && { password: given.password }),
    ...(given.inboxPrefix !== undefined && { inboxPrefix: given.inboxPrefix }),
    ...(given.instanceId !== undefined && { instanceId: given.instanceId }),
  };
}

function describeCommand(): Command {
  const option = (flags: string, what: string, env: string) => new Option(flags, what).env(env);
  return new Command("deno task admin")
    .description("Shows and steers the jobs of all services, and keeps them in order.")
    .addOption(
      option("--servers <urls>", "NATS servers, with commas between", "NATS_URL")
        .default("nats://127.0.0.1:4222"),
    )
    .addOption(option("--creds <file>", "credentials file for NATS", "NATS_CREDS"))
    .addOption(option("--user <name>", "user name for NATS", "NATS_USER"))
    .addOption(option("--password <text>", "password for NATS", "NATS_PASSWORD"))
    .addOption(option("--inbox-prefix <text>", "prefix of reply subjects", "NATS_INBOX_PREFIX"))
    .addOption(
      option("--database <file>", "where the lists are kept", "TRELLIS_JOBS_DB_PATH")
        .default(DEFAULT_DATABASE),
    )
    .addOption(
      option(
        "--shared-database",
        "several admins share the file: the owner keeps it up to date",
        "TRELLIS_JOBS_DB_SHARED",
      ),
    )
    .addOption(
      option("--bind <host:port>", "where HTTP is served", "TRELLIS_JOBS_BIND")
        .default("127.0.0.1:8080"),
    )
    .addOption(
      option("--rpc-only", "answer, and leave the owner's work to others", "TRELLIS_JOBS_RPC_ONLY"),
    )
    .addOption(new Option("--no-provision", "do not make missing streams"))
    .addOption(
      option(
        "--token <name:sha256:capabilities...>",
        "a bearer token by its SHA-256, with commas between its capabilities",
        "TRELLIS_JOBS_TOKENS",
      ).argParser((text: string, before: string[] | undefined) => [
        ...before ?? [],
        ...text.split(/\s+/).filter((word) => word !== ""),
      ]),
    )
    .addOption(option("--jwks-url <url>", "keys of signed tokens", "TRELLIS_JOBS_JWKS_URL"))
    .addOption(option("--jwt-issuer <text>", "who issues them", "TRELLIS_JOBS_JWT_ISSUER"))
    .addOption(option("--jwt-audience <text>", "for whom they are", "TRELLIS_JOBS_JWT_AUDIENCE"))
    .addOption(option("--jwt-claim <name>", "claim of capabilities", "TRELLIS_JOBS_JWT_CLAIM"))
    .addOption(new Option("--no-retention", "keep finished jobs for ever"))
    .addOption(
      option("--lease-ms <ms>", "how long an owner may be silent", "TRELLIS_JOBS_LEASE_MS")
        .default("10000"),
    )
    .addOption(option("--instance-id <name>", "name of this process", "TRELLIS_JOBS_INSTANCE_ID"))
    .addHelpText(
      "after",
      `
Capabilities: ${CAPABILITIES.join(", ")}.
The hash of a token:  printf %s "$TOKEN" | sha256sum
Without --token and --jwks-url everybody who reaches this machine's loopback may do everything.
`,
    );
}

/**
 * Reads an address.
 *
 * @example
 * ```ts
 * import { readBind } from "./settings.ts";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(readBind("[::1]:80"), { host: "::1", port: 80 });
 * assert.throws(() => readBind("8080"), /Cannot listen on "8080"/);
 * ```
 */
export function readBind(bind: string): { host: string; port: number } {
  const [, bracketed, plain, digits = ""] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s]+)):(\d{1,5})$/.exec(bind) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65_535) {
    throw new SettingsError(`Cannot listen on ${JSON.stringify(bind)}: give host:port`);
  }
  return { host, port };
}

const capabilities = z.array(z.enum(CAPABILITIES)).min(1);

function readToken(text: string): TokenGrant {
  const [name = "", sha256 = "", words = ""] = text.split(":");
  const granted = capabilities.safeParse(words.split(","));
  if (name === "" || !/^[0-9a-f]{64}$/.test(sha256) || !granted.success) {
    // Not the text itself: somebody may have given the token where its hash belongs.
    throw new SettingsError(
      `Cannot use the token ${JSON.stringify(name)}: give name:sha256:capabilities, for example ` +
        "ops:<64 hex digits>:admin.read,admin.mutate",
    );
  }
  return { name, sha256, capabilities: granted.data };
}

function readJwt(given: z.output<typeof commandLine>): JwtGrant | undefined {
  const { jwksUrl, jwtIssuer: issuer, jwtAudience: audience, jwtClaim } = given;
  if (jwksUrl === undefined) return undefined;
  if (issuer === undefined || audience === undefined) {
    throw new SettingsError(
      "Cannot use --jwks-url alone: give --jwt-issuer and --jwt-audience too",
    );
  }
  return {
    jwks: new URL(jwksUrl),
    issuer,
    audience,
    ...(jwtClaim !== undefined && { capabilitiesClaim: jwtClaim }),
  };
}
