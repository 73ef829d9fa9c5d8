/**
 * What the server's and the client's errors mean for us.
 *
 * A connection may be made by another copy of the client library, so `instanceof` proves nothing:
 * errors are told apart by `name` and `code` only.
 *
 * @module
 */

/** JetStream error codes that decide something here. */
export const API_ERROR = {
  /** No servers that could hold the replicas. */
  noSuitablePeers: 10005,
  /** The meta layer has no leader for the moment. */
  temporarilyUnavailable: 10008,
  /** There is no such consumer. */
  consumerNotFound: 10014,
  /** There is no message at this place. */
  messageNotFound: 10037,
  /** JetStream is switched off for the account. */
  notEnabledForAccount: 10039,
  /** The stream is there, with another configuration. */
  streamNameInUse: 10058,
  /** There is no such stream. */
  streamNotFound: 10059,
  /** Another stream takes these subjects. */
  subjectsOverlap: 10065,
  /** The expected sequence is not the last one. */
  wrongLastSequence: 10071,
  /** More replicas than one server can hold. */
  replicasNotSupported: 10074,
  /** The stream is at its limit. */
  streamFull: 10077,
  /** There was nothing to delete at this place. */
  messageDeleteFailed: 10057,
  /** JetStream is switched off on the server. */
  notEnabled: 10076,
  /** The consumer is there, with another configuration. */
  consumerExists: 10148,
  /** A conflict with a proposal in flight: no verdict, to be repeated. */
  wrongLastSequenceInFlight: 10164,
} as const;

/** Below this, a `code` is a status of the protocol and not a JetStream API code. */
const LOWEST_API_CODE = 10_000;

const RETRYABLE_CODES: ReadonlySet<number> = new Set([
  API_ERROR.temporarilyUnavailable,
  API_ERROR.wrongLastSequenceInFlight,
]);

const RETRYABLE_NAMES: ReadonlySet<string> = new Set([
  "TimeoutError",
  "NoResponders",
  "NoRespondersError",
  // What a missing leader looks like to the client: nobody answers the request.
  "JetStreamNotEnabled",
  "ConnectionError",
]);

const DENIED_NAMES: ReadonlySet<string> = new Set([
  "PermissionViolationError",
  "AuthorizationError",
]);

/** Gives the JetStream API code of an error, or `undefined` when it carries none. */
export function apiErrorCode(error: unknown): number | undefined {
  return chain(error).find((link) => link.code >= LOWEST_API_CODE)?.code;
}

/** Gives the sentence of an error, whatever was thrown. */
export function errorMessage(error: unknown): string {
  const first = chain(error)[0];
  if (first === undefined) return String(error);
  return first.message === "" ? first.name : first.message;
}

/** Tells whether the server refused for want of permission: nothing that time heals. */
export function isDenied(error: unknown): boolean {
  return chain(error).some((link) => DENIED_NAMES.has(link.name));
}

/** Tells whether nobody was there to answer. */
export function isNoResponders(error: unknown): boolean {
  return chain(error).some(({ name }) => name.startsWith("NoResponders"));
}

/** Tells whether the same request may succeed a moment later: time-outs, elections, reconnects. */
export function isRetryable(error: unknown): boolean {
  if (isDenied(error)) return false;
  const code = apiErrorCode(error);
  if (code !== undefined) return RETRYABLE_CODES.has(code);
  return chain(error).some((link) => RETRYABLE_NAMES.has(link.name));
}

interface ErrorLink {
  readonly name: string;
  readonly message: string;
  readonly code: number;
}

/** An error and its causes, read without knowing their classes. */
function chain(error: unknown): ErrorLink[] {
  const links: ErrorLink[] = [];
  let link: unknown = error;
  // Causes can be cyclic in foreign code; nobody needs more than a handful.
  while (typeof link === "object" && link !== null && links.length < 8) {
    links.push({
      name: "name" in link ? String(link.name) : "Error",
      message: "message" in link ? String(link.message) : "",
      code: "code" in link && typeof link.code === "number" ? link.code : 0,
    });
    link = "cause" in link ? link.cause : undefined;
  }
  return links;
}
