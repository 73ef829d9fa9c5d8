/**
 * A queue's durable consumer: made, taken over, or refused.
 *
 * @module
 */

import { z } from "zod";
import {
  type ConsumerTopology,
  err,
  JobsError,
  ok,
  type Result,
  WORK_STREAM,
} from "../protocol/mod.ts";
import type { Connection } from "./connection.ts";
import { API_ERROR, apiErrorCode, errorMessage, isDenied, isRetryable } from "./errors.ts";
import { type ApiRequestOptions, askJetStream } from "./js_api.ts";

/** Why a consumer cannot be had. */
export type ConsumerFailure =
  | "consumer-clash"
  | "stream-missing"
  | "denied"
  | "timeout"
  | "refused";

const consumerSchema = z.object({ config: z.record(z.string(), z.unknown()) });

/**
 * Makes the consumer with the filtered create API alone, so that a service needs no right beyond its
 * own queue. One that is there with another filter belongs to another queue and is refused; other
 * differences are updated once, to what this process wants.
 */
export async function ensureConsumer(
  nc: Connection,
  wanted: ConsumerTopology,
  options: ApiRequestOptions,
): Promise<Result<void, JobsError<ConsumerFailure>>> {
  const { durable_name: name, filter_subject: filter } = wanted;
  const create = `CONSUMER.CREATE.${WORK_STREAM}.${name}.${filter}`;
  const body = (action: string) => ({ stream_name: WORK_STREAM, config: wanted, action });
  try {
    await askJetStream(nc, create, body("create"), consumerSchema, options);
    return ok(undefined);
  } catch (error) {
    if (apiErrorCode(error) !== API_ERROR.consumerExists) return err(failure(name, error));
  }
  try {
    const info = `CONSUMER.INFO.${WORK_STREAM}.${name}`;
    const found = await askJetStream(nc, info, undefined, consumerSchema, options);
    const foundFilter = String(found.config["filter_subject"]);
    if (foundFilter !== filter) return err(clash(name, foundFilter, filter));
    await askJetStream(nc, create, body("update"), consumerSchema, options);
    return ok(undefined);
  } catch (error) {
    return err(failure(name, error));
  }
}

/**
 * Tells at once when the work stream is missing. It asks for a queue's consumer, the one thing
 * about the stream that a service may ask; whether that exists does not matter here.
 */
export async function requireWorkStream(
  nc: Connection,
  durable: string,
  options: ApiRequestOptions,
): Promise<Result<void, JobsError<ConsumerFailure>>> {
  try {
    await askJetStream(
      nc,
      `CONSUMER.INFO.${WORK_STREAM}.${durable}`,
      undefined,
      consumerSchema,
      options,
    );
    return ok(undefined);
  } catch (error) {
    if (apiErrorCode(error) === API_ERROR.consumerNotFound) return ok(undefined);
    return err(failure(durable, error));
  }
}

function clash(name: string, found: string, wanted: string): JobsError<"consumer-clash"> {
  return new JobsError(
    "consumer-clash",
    `Cannot start: the consumer ${name} works for ${found}, not for ${wanted}; rename the service or ` +
      `the queue so that "<service>-<queue>" is theirs alone`,
  );
}

function failure(name: string, error: unknown): JobsError<ConsumerFailure> {
  const options = { cause: error };
  const said = errorMessage(error);
  if (apiErrorCode(error) === API_ERROR.streamNotFound) {
    const message = `Cannot start: stream ${WORK_STREAM} is missing, run provision`;
    return new JobsError("stream-missing", message, options);
  }
  if (isDenied(error)) {
    return new JobsError(
      "denied",
      `Cannot start: consumer ${name} is not permitted, ${said}`,
      options,
    );
  }
  if (isRetryable(error)) {
    return new JobsError(
      "timeout",
      `Cannot start: no answer about consumer ${name}, ${said}`,
      options,
    );
  }
  return new JobsError("refused", `Cannot start: consumer ${name} is refused, ${said}`, options);
}
