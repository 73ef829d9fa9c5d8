/**
 * Who asks: bearer tokens that are known by their hash, and signed tokens of an identity provider.
 *
 * @module
 */

import { createLocalJWKSet, createRemoteJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { err, ok, type Result } from "../protocol/mod.ts";
import { AdminError } from "./errors.ts";
import { CAPABILITIES, type Capability, type Identity } from "./identity.ts";

/** A bearer token, as configuration has it: never the token itself. */
export interface TokenGrant {
  /** Who has it; recorded as the actor. */
  readonly name: string;
  /** SHA-256 of the token, in hex; see {@linkcode hashToken}. */
  readonly sha256: string;
  /** What its bearer may do. */
  readonly capabilities: readonly Capability[];
}

/** Signed tokens that are believed. */
export interface JwtGrant {
  /** Where the keys are published, or the keys themselves. */
  readonly jwks: URL | { readonly keys: readonly object[] };
  /** Who must have issued a token. */
  readonly issuer: string;
  /** For whom it must be meant. */
  readonly audience: string;
  /** The claim that lists capabilities, as a list or a text with spaces; `scope` when left out. */
  readonly capabilitiesClaim?: string;
}

/** What is believed; at least one of the two. */
export interface AuthenticationOptions {
  /** Bearer tokens. */
  readonly tokens?: readonly TokenGrant[];
  /** Signed tokens. */
  readonly jwt?: JwtGrant;
}

/** Tells from an `authorization` header who asks. */
export type Authenticate = (
  authorization: string | undefined,
) => Promise<Result<Identity, AdminError>>;

/** Nothing that both sides could know alike: no shared secrets, and never unsigned. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384"]
  .concat(["ES512", "EdDSA", "Ed25519"]);
const CLOCK_TOLERANCE_S = 5;
const LONGEST_ACTOR = 200;

/**
 * Gives the SHA-256 of a token in hex, for configuration.
 *
 * @example
 * ```ts
 * import { hashToken } from "./authenticate.ts";
 * import assert from "node:assert/strict";
 *
 * assert.match(await hashToken("a long random text"), /^[0-9a-f]{64}$/);
 * ```
 */
export async function hashToken(token: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Makes the judge of `authorization` headers; throws `TypeError` for a grant that cannot be. */
export function createAuthenticator({ tokens = [], jwt }: AuthenticationOptions): Authenticate {
  for (const { name, sha256 } of tokens) {
    if (/^[0-9a-f]{64}$/.test(sha256)) continue;
    throw new TypeError(
      `Cannot use the token of ${name}: its sha256 is not 64 lower-case hex digits`,
    );
  }
  const verify = jwt === undefined ? undefined : createJwtVerifier(jwt);
  return async (authorization) => {
    const bearer = /^Bearer +([^ ]+) *$/i.exec(authorization ?? "")?.[1];
    if (bearer === undefined) return refused("give a bearer token in the authorization header");
    const hash = await hashToken(bearer);
    // Every grant is compared, so that the time taken does not tell which one nearly fits.
    let known: TokenGrant | undefined;
    for (const grant of tokens) if (isSameText(grant.sha256, hash)) known = grant;
    if (known !== undefined) {
      return ok({ actor: known.name, capabilities: known.capabilities });
    }
    if (verify !== undefined && bearer.split(".").length === 3) return await verify(bearer);
    return refused("the bearer token is not known");
  };
}

function createJwtVerifier(
  { jwks, issuer, audience, capabilitiesClaim = "scope" }: JwtGrant,
): (token: string) => Promise<Result<Identity, AdminError>> {
  const keys = jwks instanceof URL
    ? createRemoteJWKSet(jwks)
    // The library judges each key when it is used; ours only says that it is an object.
    : createLocalJWKSet({ keys: [...jwks.keys] } as JSONWebKeySet);
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        requiredClaims: ["sub", "exp"],
        clockTolerance: CLOCK_TOLERANCE_S,
      });
      const actor = (payload.sub ?? "").slice(0, LONGEST_ACTOR);
      return ok({ actor, capabilities: claimed(payload[capabilitiesClaim]) });
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      return refused(`the signed token is not valid, ${why}`);
    }
  };
}

function claimed(claim: unknown): Capability[] {
  const words: unknown[] = typeof claim === "string"
    ? claim.split(" ")
    : Array.isArray(claim)
    ? claim
    : [];
  return CAPABILITIES.filter((capability) => words.includes(capability));
}

function isSameText(a: string, b: string): boolean {
  let different = a.length ^ b.length;
  for (let at = 0; at < a.length; at++) different |= a.charCodeAt(at) ^ b.charCodeAt(at);
  return different === 0;
}

function refused(why: string): Result<never, AdminError> {
  return err(new AdminError("unauthenticated", `Cannot tell who asks: ${why}`));
}
