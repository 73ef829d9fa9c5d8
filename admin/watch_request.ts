/**
 * What can be listened to.
 *
 * @module
 */

import { z } from "zod";
import { toJsonSchema } from "./json_schema.ts";
import { countField, idField, nameField } from "./messages/fields.ts";

/** Which events; every field narrows. */
export interface WatchRequest {
  /** Events of this service. */
  readonly service?: string;
  /** Events of this type; together with a service. */
  readonly type?: string;
  /** Events of this job. */
  readonly id?: string;
  /** The first place to read; what is stored from now on when left out. */
  readonly fromSequence?: number;
}

/** The schema of {@linkcode WatchRequest}. */
export const watchRequest: z.ZodType<WatchRequest> = z.strictObject({
  service: nameField("service").exactOptional(),
  type: nameField("job type").exactOptional(),
  id: idField.exactOptional(),
  fromSequence: countField.exactOptional(),
}).refine(({ service, type }) => type === undefined || service !== undefined, {
  path: ["service"],
  error: "say of which service",
});

const fields = Object.entries(toJsonSchema(watchRequest, "input").schema.properties ?? {});

/** Its fields as parameters of the document. */
export const WATCH_PARAMETERS: readonly {
  readonly name: string;
  readonly in: "query" | "header";
  readonly required: boolean;
  readonly schema: Readonly<Record<string, unknown>>;
}[] = [
  ...fields.map(([name, schema]) => ({ name, in: "query", required: false, schema }) as const),
  { name: "Last-Event-ID", in: "header", required: false, schema: { type: "string" } },
];
