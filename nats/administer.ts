/**
 * What an administrator asks of streams and consumers, beyond what a service may.
 *
 * @module
 */

import { z } from "zod";
import { ADVISORIES_STREAM, WORK_STREAM } from "../protocol/mod.ts";
import type { Connection } from "./connection.ts";
import { API_ERROR, apiErrorCode } from "./errors.ts";
import { type ApiRequestOptions, askJetStream } from "./js_api.ts";

/** What a queue's consumer says of itself. */
export interface ConsumerStanding {
  /** Messages that were never delivered. */
  readonly pending: number;
  /** Messages that were delivered and not settled. */
  readonly ackPending: number;
  /** Those of them that were delivered more than once. */
  readonly redelivered: number;
  /** How long a silent worker keeps a message. */
  readonly ackWaitMs: number;
  /** Every message up to this place is settled. */
  readonly ackFloor: number;
  /** Until when it is paused; left out when it is not. */
  readonly pausedUntil?: string;
}

/** How a stream's source is doing. */
export interface SourceStanding {
  /** The stream that it reads from. */
  readonly name: string;
  /** How long ago it was heard from; -1 when it is not attached. */
  readonly activeMs: number;
  /** Messages that it still has to read, as far as it knows. */
  readonly lag: number;
}

const consumerSchema = z.object({
  num_pending: z.number().default(0),
  num_ack_pending: z.number().default(0),
  num_redelivered: z.number().default(0),
  paused: z.boolean().default(false),
  ack_floor: z.object({ stream_seq: z.number() }),
  config: z.object({ ack_wait: z.number().default(0), pause_until: z.string().optional() }),
});
const pausedSchema = z.object({ paused: z.boolean().default(false) });
const doneSchema = z.object({ success: z.boolean() });
const sourcesSchema = z.object({
  sources: z.array(z.object({
    name: z.string(),
    active: z.number().default(-1),
    lag: z.number().default(0),
  })).default([]),
});
const anySchema = z.object({});
const NANOSECONDS = 1_000_000;

/** Reads how a queue's consumer stands; `undefined` when there is none. */
export async function readConsumer(
  nc: Connection,
  durable: string,
  options: ApiRequestOptions,
): Promise<ConsumerStanding | undefined> {
  const info = await askJetStream(
    nc,
    `CONSUMER.INFO.${WORK_STREAM}.${durable}`,
    undefined,
    consumerSchema,
    options,
  ).catch(unlessMissing(API_ERROR.consumerNotFound));
  if (info === undefined) return undefined;
  const { pause_until: pausedUntil } = info.config;
  return {
    pending: info.num_pending,
    ackPending: info.num_ack_pending,
    redelivered: info.num_redelivered,
    ackWaitMs: info.config.ack_wait / NANOSECONDS,
    ackFloor: info.ack_floor.stream_seq,
    ...(info.paused && pausedUntil !== undefined && { pausedUntil }),
  };
}

/** Pauses a queue's consumer until an instant, or lets it go on. Needs server 2.11. */
export async function pauseConsumer(
  nc: Connection,
  durable: string,
  until: string | undefined,
  options: ApiRequestOptions,
): Promise<void> {
  const body = until === undefined ? {} : { pause_until: until };
  const operation = `CONSUMER.PAUSE.${WORK_STREAM}.${durable}`;
  await askJetStream(nc, operation, body, pausedSchema, options);
}

/** Removes one message; `false` when it was gone already. */
export async function deleteMessage(
  nc: Connection,
  stream: string,
  sequence: number,
  options: ApiRequestOptions,
): Promise<boolean> {
  const body = { seq: sequence, no_erase: true };
  const done = await askJetStream(nc, `STREAM.MSG.DELETE.${stream}`, body, doneSchema, options)
    .catch(unlessMissing(API_ERROR.messageNotFound, API_ERROR.messageDeleteFailed));
  return done?.success === true;
}

/** Reads how a stream's sources stand. */
export async function readSources(
  nc: Connection,
  stream: string,
  options: ApiRequestOptions,
): Promise<readonly SourceStanding[]> {
  const info = await askJetStream(nc, `STREAM.INFO.${stream}`, undefined, sourcesSchema, options);
  return info.sources.map(({ name, active, lag }) => ({
    name,
    activeMs: active < 0 ? -1 : active / NANOSECONDS,
    lag,
  }));
}

/** Lets another server lead a stream; what hangs with the old leader is begun anew. */
export async function stepDown(
  nc: Connection,
  stream: string,
  options: ApiRequestOptions,
): Promise<void> {
  await askJetStream(nc, `STREAM.LEADER.STEPDOWN.${stream}`, {}, doneSchema, options);
}

/** Makes the durable consumer that reads advisories, or finds it there. */
export async function ensureAdvisoryConsumer(
  nc: Connection,
  durable: string,
  options: ApiRequestOptions,
): Promise<void> {
  const config = {
    durable_name: durable,
    ack_policy: "explicit",
    ack_wait: 30_000 * NANOSECONDS,
    deliver_policy: "all",
    replay_policy: "instant",
    max_ack_pending: 1_000,
  };
  const body = { stream_name: ADVISORIES_STREAM, config, action: "" };
  const operation = `CONSUMER.CREATE.${ADVISORIES_STREAM}.${durable}`;
  await askJetStream(nc, operation, body, anySchema, options);
}

function unlessMissing(...codes: readonly number[]): (error: unknown) => undefined {
  return (error) => {
    if (codes.includes(apiErrorCode(error) ?? 0)) return undefined;
    throw error;
  };
}

/** A message as the stream's leader has it. */
export interface LeaderMessage {
  /** The subject it is stored under. */
  readonly subject: string;
  /** The body. */
  readonly data: Uint8Array;
  /** Its headers as one text. */
  readonly headers: string;
}

const leaderMessageSchema = z.object({
  message: z.object({
    subject: z.string(),
    data: z.base64().default(""),
    hdrs: z.base64().default(""),
  }),
});

/** Reads the message at a place; `undefined` when it is gone, which the leader knows for certain. */
export async function readMessage(
  nc: Connection,
  stream: string,
  sequence: number,
  options: ApiRequestOptions,
): Promise<LeaderMessage | undefined> {
  const get = `STREAM.MSG.GET.${stream}`;
  const found = await askJetStream(nc, get, { seq: sequence }, leaderMessageSchema, options)
    .catch(unlessMissing(API_ERROR.messageNotFound));
  if (found === undefined) return undefined;
  const { subject, data, hdrs } = found.message;
  return { subject, data: bytes(data), headers: new TextDecoder().decode(bytes(hdrs)) };
}

function bytes(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
