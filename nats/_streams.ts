/** Bringing one stream to what is wanted, whoever else is doing the same at this moment. */

import { z } from "zod";
import {
  type StreamDrift,
  streamDrift,
  type StreamTopology,
  UPDATABLE_FIELDS,
} from "../protocol/mod.ts";
import type { Connection } from "./connection.ts";
import { API_ERROR, apiErrorCode } from "./errors.ts";
import { type ApiRequestOptions, askJetStream } from "./js_api.ts";

/** What was done to a stream, and what was found and left. */
export interface StreamReport {
  /** The stream. */
  readonly name: string;
  /** What was done. */
  readonly action: "created" | "unchanged" | "updated";
  /** What differs still and was not changed. */
  readonly drift: readonly StreamDrift[];
}

/** A stream as the server has it. */
export interface StreamFound {
  /** Its whole configuration. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Its sources; `active` is -1 until one is attached. */
  readonly sources: readonly { readonly name: string; readonly active: number }[];
}

const streamSchema = z.object({
  config: z.record(z.string(), z.unknown()),
  sources: z.array(z.object({ name: z.string(), active: z.number().default(-1) })).default([]),
});

/** What may be done to a stream that is there already. */
export interface EnsureOptions extends ApiRequestOptions {
  /** Fields that may be changed; all others are only reported. */
  readonly updatable: ReadonlySet<string>;
}

/** Fields that provisioning changes, beside those that the caller asked for by value. */
export function updatableFields(explicit: { replicas: boolean }): ReadonlySet<string> {
  return explicit.replicas ? new Set([...UPDATABLE_FIELDS, "num_replicas"]) : UPDATABLE_FIELDS;
}

/**
 * Creates a stream, or brings the one that is there nearer to what is wanted. It reads first,
 * because the server answers a repeated create as if it had been the first.
 */
export async function ensureStream(
  nc: Connection,
  wanted: StreamTopology,
  options: EnsureOptions,
): Promise<StreamReport> {
  const { name } = wanted;
  for (let race = 0;; race++) {
    const found = await findStream(nc, name, options);
    if (found !== undefined) return await bringNearer(nc, wanted, found, options);
    try {
      const made = await askJetStream(nc, `STREAM.CREATE.${name}`, wanted, streamSchema, options);
      // An old server accepts what it does not know and drops it: only the echo tells.
      return { name, action: "created", drift: streamDrift(made.config, wanted) };
    } catch (error) {
      // While another process makes the same stream, the server refuses in several words. If that
      // was it, the stream is there in a moment; if not, the refusal stands.
      if (race === MOST_RACES || apiErrorCode(error) === undefined || isTooManyReplicas(error)) {
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 20 << race));
    }
  }
}

const MOST_RACES = 4;

/** Tells whether the server cannot hold so many replicas: another number may do. */
export function isTooManyReplicas(error: unknown): boolean {
  const code = apiErrorCode(error);
  return code === API_ERROR.replicasNotSupported || code === API_ERROR.noSuitablePeers;
}

/** Reads a stream as it stands. */
export async function readStream(
  nc: Connection,
  name: string,
  options: ApiRequestOptions,
): Promise<StreamFound> {
  return await askJetStream(nc, `STREAM.INFO.${name}`, undefined, streamSchema, options);
}

/** Reads a stream, or `undefined` when there is none. */
export async function findStream(
  nc: Connection,
  name: string,
  options: ApiRequestOptions,
): Promise<StreamFound | undefined> {
  try {
    return await readStream(nc, name, options);
  } catch (error) {
    if (apiErrorCode(error) === API_ERROR.streamNotFound) return undefined;
    throw error;
  }
}

/** A stream under our name that does not take in what is ours: nothing of it is changed. */
export class ForeignStreamError extends Error {
  /** Names the stream, what it takes in, and what to do. */
  constructor(name: string, { found, wanted }: StreamDrift) {
    super(
      `the stream ${name} is there and takes in ${JSON.stringify(found ?? [])} instead of ` +
        `${JSON.stringify(wanted)}; change its subjects, or use another account`,
    );
    this.name = "ForeignStreamError";
  }
}

/** Further subjects are an operator's business; a subject of ours that is missing loses messages. */
function isForeign(found: Readonly<Record<string, unknown>>, wanted: StreamTopology): boolean {
  const subjects = found["subjects"];
  return !Array.isArray(subjects) ||
    !wanted.subjects.every((subject) => subjects.includes(subject));
}

async function bringNearer(
  nc: Connection,
  wanted: StreamTopology,
  found: StreamFound,
  options: EnsureOptions,
): Promise<StreamReport> {
  const { name } = wanted;
  const drift = streamDrift(found.config, wanted);
  const foreign = drift.find(({ field }) =>
    field === "subjects" && isForeign(found.config, wanted)
  );
  if (foreign !== undefined) throw new ForeignStreamError(name, foreign);
  const changes = drift.filter(({ field }) => options.updatable.has(field));
  if (changes.length === 0) return { name, action: "unchanged", drift };
  const config = { ...found.config };
  for (const { field, wanted: value } of changes) config[field] = value;
  const updated = await askJetStream(nc, `STREAM.UPDATE.${name}`, config, streamSchema, options);
  return { name, action: "updated", drift: streamDrift(updated.config, wanted) };
}
