/**
 * What is looked at before a request is: where it comes from, and what it carries.
 *
 * @module
 */

import { err, ok, type Result } from "../../protocol/mod.ts";
import { AdminError } from "../errors.ts";

/** Headers of every answer: nothing is cached, framed, sniffed or run. */
export const SECURE_HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/**
 * Refuses what a browser was tricked into. Without tokens, whoever reaches the port may do
 * everything: a page of another site must not, neither by a request across sites nor under a name
 * of its own that it lets point to this machine.
 */
export function guardAnonymous(request: Request): Result<void, AdminError> {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  if (!isLoopbackHost(host)) {
    return forbidden(`the host ${JSON.stringify(host)} is not this machine, and there is no token`);
  }
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") {
    return forbidden(`it comes from another site (${site}), and there is no token`);
  }
  const origin = request.headers.get("origin");
  if (origin !== null && !isSameHost(origin, host)) {
    return forbidden(`it comes from ${JSON.stringify(origin)}, and there is no token`);
  }
  return ok(undefined);
}

/** Refuses a body that does not say that it is JSON; a form of another site cannot say so. */
export function guardContentType(request: Request): Result<void, AdminError> {
  const type = request.headers.get("content-type") ?? "";
  if (/^application\/json\s*(;|$)/i.test(type)) return ok(undefined);
  const said = type === "" ? "nothing" : JSON.stringify(type);
  const message = `Cannot read the body: its content type is ${said}, not application/json`;
  return err(new AdminError("unsupported_media_type", message));
}

/**
 * Tells whether a host, with or without a port, can only be this machine.
 *
 * @example
 * ```ts
 * import { isLoopbackHost } from "./guard.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(isLoopbackHost("127.0.0.1:8080"), true);
 * assert.equal(isLoopbackHost("localhost.example.org"), false);
 * ```
 */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1").toLowerCase();
  return name === "localhost" || name === "::1" || /^127(\.\d{1,3}){3}$/.test(name);
}

function isSameHost(origin: string, host: string): boolean {
  try {
    return new URL(origin).host === host;
  } catch {
    return false;
  }
}

function forbidden(why: string): Result<never, AdminError> {
  return err(new AdminError("forbidden", `Cannot answer this request: ${why}`));
}
