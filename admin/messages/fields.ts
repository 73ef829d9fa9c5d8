/**
 * The fields that several requests and answers share.
 *
 * @module
 */

import { z } from "zod";
import {
  isJobId,
  JOB_STATES,
  type JobState,
  type NameKind,
  nameProblem,
} from "../../protocol/mod.ts";

/** The most entries of a page. */
export const MOST_ENTRIES = 500;
/** The deepest offset; deeper pages are reached by `cursor`. */
export const DEEPEST_OFFSET = 100_000;

/** A job id. The pattern is for readers of the document; the check is the protocol's own. */
export const idField: z.ZodString = z.string().regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  .refine(isJobId, "not a ULID");

/** A name of a kind. */
export function nameField(kind: NameKind): z.ZodString {
  return z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, `not a legal ${kind}`)
    .refine((text) => nameProblem(kind, text) === undefined, `not a legal ${kind}`);
}

/** An instant in a request: any RFC 3339 form, with `Z` or an offset. */
export const instantField: z.ZodISODateTime = z.iso.datetime({ offset: true });

/** An instant in an answer. */
export const instantAnswer: z.ZodString = z.string().meta({ format: "date-time" });

/** A whole number from zero. */
export const countField: z.ZodInt = z.int().nonnegative();

/** Any JSON value. */
export const jsonField: z.ZodUnknown = z.unknown();

/** A state. */
export const stateField: z.ZodType<JobState> = z.enum(JOB_STATES);

/** A hash of a key. */
export const keyHashField: z.ZodString = z.string().regex(/^[0-9a-f]{64}$/);

/** Why somebody does something, for people. */
export const reasonField: z.ZodString = z.string().min(1).max(1_000);

/** Which page. */
export interface PageRequest {
  /** Entries to pass over. */
  readonly offset?: number;
  /** The most entries, from 1 to 500. */
  readonly limit: number;
}

/** One page of a live list: what changes meanwhile may move to another page. */
export interface PageResponse<Entry> {
  /** The entries. */
  readonly entries: readonly Entry[];
  /** How many there are in all. */
  readonly count: number;
  /** Entries passed over. */
  readonly offset: number;
  /** The most entries that were asked for. */
  readonly limit: number;
  /** The offset of the next page; left out on the last one, and where the next is too deep. */
  readonly nextOffset?: number;
}

/** The fields of a request for a page. */
export const pageFields: {
  readonly offset: z.ZodExactOptional<z.ZodInt>;
  readonly limit: z.ZodInt;
} = {
  offset: z.int().min(0).max(DEEPEST_OFFSET).exactOptional(),
  limit: z.int().min(1).max(MOST_ENTRIES),
};

/** The fields of a page of such entries. */
export function pageAnswer<Entry>(entry: z.ZodType<Entry>): {
  readonly entries: z.ZodArray<z.ZodType<Entry>>;
  readonly count: z.ZodInt;
  readonly offset: z.ZodInt;
  readonly limit: z.ZodInt;
  readonly nextOffset: z.ZodExactOptional<z.ZodInt>;
} {
  return {
    entries: z.array(entry),
    count: countField,
    offset: countField,
    limit: countField,
    nextOffset: countField.exactOptional(),
  };
}

/**
 * Cuts a page out of a list that is whole in memory.
 *
 * @example
 * ```ts
 * import { pageOf } from "./fields.ts";
 * import assert from "node:assert/strict";
 *
 * const page = pageOf(["a", "b", "c"], { limit: 2 });
 * assert.deepEqual(page, { entries: ["a", "b"], count: 3, offset: 0, limit: 2, nextOffset: 2 });
 * ```
 */
export function pageOf<Entry>(
  all: readonly Entry[],
  { offset = 0, limit }: PageRequest,
): PageResponse<Entry> {
  const entries = all.slice(offset, offset + limit);
  const next = offset + entries.length;
  const more = entries.length > 0 && next < all.length;
  return { entries, count: all.length, offset, limit, ...(more && { nextOffset: next }) };
}
