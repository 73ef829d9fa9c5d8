/**
 * Handlers and what wraps them.
 *
 * @module
 */

import type { Err, QueueAddress, QueueDefinition } from "../protocol/mod.ts";
import type { ActiveJob } from "./active_job.ts";
import type { PayloadOutput, ResultInput } from "./define.ts";
import type { BoundHandler } from "./job_life.ts";

/** What a handler is called with. */
export interface HandlerInput<Payload> {
  /** The job. */
  readonly job: ActiveJob<Payload>;
  /** Aborted when the job is cancelled, expires, times out or must go elsewhere. */
  readonly signal: AbortSignal;
  /** The queue. */
  readonly queue: QueueAddress;
}

/** A handler of one queue: returns its result, throws, or returns `err(...)`. */
export type JobHandler<Queue extends QueueDefinition, Context extends object> = (
  input: HandlerInput<PayloadOutput<Queue>> & Context,
) => HandlerReturn<Queue> | Promise<HandlerReturn<Queue>>;

/** What a handler may return. */
export type HandlerReturn<Queue extends QueueDefinition> =
  | ResultInput<Queue>
  | Err<Error | string>;

/**
 * Wraps handlers. It calls `next` with what it adds to the handler's input, and passes on what
 * `next` returns; what it throws counts as thrown by the handler.
 */
export type Middleware<Added extends object = object> = (
  input: HandlerInput<unknown>,
  next: (added: Added) => Promise<unknown>,
) => Promise<unknown>;

/** What a list of middleware adds in all. */
export type AddedBy<List extends readonly Middleware[]> = List extends
  readonly [Middleware<infer Added>, ...infer Rest extends readonly Middleware[]]
  ? Added & AddedBy<Rest>
  : object;

/** Puts middleware around a handler, the first outermost. */
export function wrapHandler(
  handler: (input: HandlerInput<unknown>) => unknown,
  middleware: readonly Middleware[],
  queue: QueueAddress,
): BoundHandler {
  if (middleware.length === 0) {
    return (job, signal) => handler(inputOf(job, signal, queue));
  }
  return (job, signal) => {
    const call = (index: number, input: HandlerInput<unknown>): Promise<unknown> => {
      const layer = middleware[index];
      if (layer === undefined) return Promise.resolve(handler(input));
      return layer(input, (added: object) => call(index + 1, extend(input, added)));
    };
    return call(0, inputOf(job, signal, queue));
  };
}

/** Most handlers never look at their signal, so it is made when it is asked for. */
function inputOf(
  job: ActiveJob<unknown>,
  signal: () => AbortSignal,
  queue: QueueAddress,
): HandlerInput<unknown> {
  return {
    job,
    queue,
    get signal() {
      return signal();
    },
  };
}

function extend(input: HandlerInput<unknown>, added: object): HandlerInput<unknown> {
  // Own properties all, so that a copy of the input is an input; the signal is still made on demand.
  const descriptors = {
    ...Object.getOwnPropertyDescriptors(input),
    ...Object.getOwnPropertyDescriptors(added),
  };
  return Object.defineProperties({} as HandlerInput<unknown>, descriptors);
}
