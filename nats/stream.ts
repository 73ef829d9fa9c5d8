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
const messageSchema = z.object({ message: z.object({ subject: z.string(), time: z.string() }) });
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
 * delivery says it; `undefined` when it is gone. The stream's leader answers: unlike a direct get,
 * absence is certain.
 */
export async function readMessageTime(
  nc: Connection,
  stream: string,
  sequence: number,
  options: ApiRequestOptions,
): Promise<string | undefined> {
  try {
    const get = `STREAM.MSG.GET.${stream}`;
    const { message } = await askJetStream(nc, get, { seq: sequence }, messageSchema, options);
    return nanoseconds(message.time);
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
