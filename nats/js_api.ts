/**
 * Requests to JetStream's API, asked for by subject and checked by schema.
 *
 * The client library's own calls drop configuration fields that they do not know; these do not.
 *
 * @module
 */

import { z } from "zod";
import type { Connection, Message } from "./connection.ts";
import { isRetryable } from "./errors.ts";

/** A refusal by JetStream, in the server's own words. */
export class JetStreamRefusal extends Error {
  /** The API's error code. */
  readonly code: number;

  /** Makes a refusal from the server's answer. */
  constructor(code: number, description: string) {
    super(description);
    this.name = "JetStreamRefusal";
    this.code = code;
  }
}

/** How long to keep asking. */
export interface ApiRequestOptions {
  /** Nothing is asked again after this instant. */
  readonly giveUpAt: number;
  /** How long one answer may take; 5 s when left out. */
  readonly answerMs?: number;
}

const refusalSchema = z.object({
  error: z.object({ err_code: z.number().default(0), description: z.string().default("refused") }),
});

/**
 * Asks JetStream's API and gives the checked answer; repeats what may succeed a moment later.
 * Throws {@linkcode JetStreamRefusal} when the server says no, the client's error otherwise.
 */
export async function askJetStream<Answer>(
  nc: Connection,
  operation: string,
  body: unknown,
  schema: z.ZodType<Answer>,
  options: ApiRequestOptions,
): Promise<Answer> {
  for (let pauseMs = 50;; pauseMs = Math.min(pauseMs * 2, 1_000)) {
    try {
      return await askOnce(nc, operation, body, schema, options);
    } catch (error) {
      if (!isRetryable(error) || Date.now() + pauseMs >= options.giveUpAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

async function askOnce<Answer>(
  nc: Connection,
  operation: string,
  body: unknown,
  schema: z.ZodType<Answer>,
  options: ApiRequestOptions,
): Promise<Answer> {
  const timeout = Math.max(100, Math.min(options.answerMs ?? 5_000, options.giveUpAt - Date.now()));
  const data = body === undefined ? "" : JSON.stringify(body);
  const message = await nc.request(`$JS.API.${operation}`, data, { timeout });
  const answer = readJson(message);
  const refusal = refusalSchema.safeParse(answer);
  if (refusal.success) {
    const { err_code, description } = refusal.data.error;
    throw new JetStreamRefusal(err_code, description);
  }
  return schema.parse(answer);
}

/** Reads an answer's body as JSON; throws when it is none. */
export function readJson(message: Message): unknown {
  return JSON.parse(decoder.decode(message.data));
}

const decoder = new TextDecoder();
