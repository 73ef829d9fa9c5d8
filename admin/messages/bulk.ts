/**
 * Doing something to many jobs at once: by ids, or to whatever a filter finds.
 *
 * @module
 */

import { z } from "zod";
import type { JobState } from "../../protocol/mod.ts";
import { type ErrorEnvelope, errorSchema } from "../errors.ts";
import { countField, idField, MOST_ENTRIES, reasonField, stateField } from "./fields.ts";
import { againFields, type JobFilterRequest, jobFilterSchema } from "./jobs.ts";

/** Which jobs: exactly one of `ids` and `filter`. */
export interface ManyRequest {
  /** These jobs, at most 500. */
  readonly ids?: readonly string[];
  /** Jobs that match, in a state in which it can be done. */
  readonly filter?: JobFilterRequest;
  /** The most jobs that a filter may act on, from 1 to 500; 100 when left out. */
  readonly limit?: number;
}

/** Puts many jobs back to work. */
export interface AgainManyRequest extends ManyRequest {
  /** A new deadline, counted from now. */
  readonly deadlineMs?: number;
  /** Tries they have now. */
  readonly maxTries?: number;
}

/** Ends many jobs from outside. */
export interface EndManyRequest extends ManyRequest {
  /** Why, for people; it is recorded. */
  readonly reason?: string;
}

/** What became of one of many jobs. */
export type ItemOutcome =
  | {
    /** The job. */
    readonly id: string;
    /** It was done. */
    readonly ok: true;
    /** The state after it. */
    readonly state: JobState;
  }
  | {
    /** The job. */
    readonly id: string;
    /** It was not done. */
    readonly ok: false;
    /** Why. */
    readonly error: ErrorEnvelope["error"];
  };

/** What became of many jobs. */
export interface ManyResponse {
  /** One result per job, in the order asked for. */
  readonly results: readonly ItemOutcome[];
  /** How many were done. */
  readonly succeeded: number;
  /** How many were not. */
  readonly failed: number;
  /** Jobs that the filter found beyond the limit: ask again. */
  readonly remaining: number;
  /** Whether lists show all of it already. */
  readonly projected: boolean;
}

const manyFields = {
  ids: z.array(idField).min(1).max(MOST_ENTRIES).exactOptional(),
  filter: jobFilterSchema.exactOptional(),
  limit: z.int().min(1).max(MOST_ENTRIES).exactOptional(),
};
const oneOfBoth = ({ ids, filter }: ManyRequest) => (ids === undefined) !== (filter === undefined);
const EXACTLY_ONE = { path: ["ids"], error: "give exactly one of ids and filter" };

/** The schema of {@linkcode AgainManyRequest}. */
export const againManyRequest: z.ZodType<AgainManyRequest> = z.strictObject({
  ...manyFields,
  ...againFields,
}).refine(oneOfBoth, EXACTLY_ONE);
/** The schema of {@linkcode EndManyRequest}. */
export const endManyRequest: z.ZodType<EndManyRequest> = z.strictObject({
  ...manyFields,
  reason: reasonField.exactOptional(),
}).refine(oneOfBoth, EXACTLY_ONE);

/** The schema of {@linkcode ManyResponse}. */
export const manyResponse: z.ZodType<ManyResponse> = z.object({
  results: z.array(z.discriminatedUnion("ok", [
    z.object({ id: z.string(), ok: z.literal(true), state: stateField }),
    z.object({ id: z.string(), ok: z.literal(false), error: errorSchema }),
  ])),
  succeeded: countField,
  failed: countField,
  remaining: countField,
  projected: z.boolean(),
});
