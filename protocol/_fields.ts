/** Schemas of the small things that several messages share. */

import { z } from "zod";
import { isJobId, type NameKind, nameProblem } from "./names.ts";

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** A name that is one subject token. */
export function nameSchema(kind: NameKind): z.ZodString {
  return z.string().refine((text) => nameProblem(kind, text) === undefined, `not a legal ${kind}`);
}

/** A ULID. */
export const jobIdSchema: z.ZodString = z.string().refine(isJobId, "not a ULID");

/** RFC 3339, milliseconds, `Z`: one form, so that equal instants are equal texts. */
export const instantSchema: z.ZodString = z.string().refine(
  isInstant,
  "not an RFC 3339 instant with milliseconds and Z",
);

/** `Date` reads the 30th of February and 24 o'clock as the next day: those are other texts. */
function isInstant(text: string): boolean {
  if (!INSTANT.test(text)) return false;
  const at = Date.parse(text);
  return !Number.isNaN(at) && new Date(at).toISOString() === text;
}

/** A whole number from zero. */
export const countSchema: z.ZodInt = z.int().nonnegative();
