/** Schemas of the small things that several messages share. */

import { z } from "zod";
import { isJobId, type NameKind, nameProblem } from "./names.ts";

const INSTANT =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;
/** No month is shorter: such a day needs no calendar. */
const SHORTEST_MONTH = "28";

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

/** Tells whether a text is an instant. `Date` reads the 30th of February as another day, which is another text. */
export function isInstant(text: string): boolean {
  if (!INSTANT.test(text)) return false;
  return text.slice(8, 10) <= SHORTEST_MONTH || new Date(text).toISOString() === text;
}

/** A whole number from zero. */
export const countSchema: z.ZodInt = z.int().nonnegative();
