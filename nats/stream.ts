/**
 * A stream as a whole: what it holds, single messages of it, and removing what is no longer wanted.
 *
 * @module
 */

import { z } from "zod";
import type { Connection } from "./connection.ts";
import { API_ERROR, apiErrorCode } from "./errors.ts";
import { type ApiRequestOptions, askJetStream } from "./js_api.ts";

/** What a stream says of itself. */
export interface StreamState {
  /** When it was created: another text is another stream, even under the same name. */
  readonly createdAt: string;
  /** Place of its oldest message; one more than the last when it is empty. */
  readonly firstSequence: number;
  /** The last place that was given out, also when that message is gone. */
  readonly lastSequence: number;
  /** How many messages it holds. */
  readonly messages: number;
}

const infoSchema = z.object({
  created: z.string(),
  state: z.object({ messages: z.number(), first_seq: z.number(), last_seq: z.number() }),
});
const messageSchema = z.object({ message: z.object({ seq: z.number(), time: z.string() }) });
const purgedSchema = z.object({ purged: z.number() });

/** Reads what a stream holds. Throws `JetStreamRefusal` when there is none. */
export async function readStreamState(
  nc: Connection,
  stream: string,
  options: ApiRequestOptions,
): Promise<StreamState> {
  const info = await askJetStream(nc, `STREAM.INFO.${stream}`, undefined, infoSchema, options);
  return {
    createdAt: info.created,
    firstSequence: info.state.first_seq,
    lastSequence: info.state.last_seq,
    messages: info.state.messages,
  };
}

/**
 * Reads when the message at a place was stored, in nanoseconds since 1970 as a decimal text, as a
 * delivery says it; `undefined` when it is gone. The stream's leader answers: unlike with a direct
 * get, absence is certain.
 */
export async function readMessageTime(
  nc: Connection,
  stream: string,
  sequence: number,
  options: ApiRequestOptions,
): Promise<string | undefined> {
  const message = await askLeader(nc, stream, { seq: sequence }, options);
  return message === undefined ? undefined : nanoseconds(message.time);
}

/** Reads the place of the newest message whose subject matches, 0 for none; the leader answers. */
export async function readLastPlace(
  nc: Connection,
  stream: string,
  subject: string,
  options: ApiRequestOptions,
): Promise<number> {
  return (await askLeader(nc, stream, { last_by_subj: subject }, options))?.seq ?? 0;
}

async function askLeader(
  nc: Connection,
  stream: string,
  body: object,
  options: ApiRequestOptions,
): Promise<z.infer<typeof messageSchema>["message"] | undefined> {
  try {
    const get = `STREAM.MSG.GET.${stream}`;
    return (await askJetStream(nc, get, body, messageSchema, options)).message;
  } catch (error) {
    if (apiErrorCode(error) === API_ERROR.messageNotFound) return undefined;
    throw error;
  }
}

/** Removes the messages of a subject (or filter) below a place; gives how many went. */
export async function purgeSubject(
  nc: Connection,
  stream: string,
  subject: string,
  belowSequence: number,
  options: ApiRequestOptions,
): Promise<number> {
  const body = { filter: subject, seq: belowSequence };
  return (await askJetStream(nc, `STREAM.PURGE.${stream}`, body, purgedSchema, options)).purged;
}

/** The server writes RFC 3339 with as many digits as are needed, up to nine. */
function nanoseconds(instant: string): string {
  const [, whole = "", fraction = ""] = /^([^.]*?)(?:\.(\d+))?Z$/.exec(instant) ?? [];
  return `${Date.parse(`${whole}Z`) / 1_000}${fraction.padEnd(9, "0")}`;
}
