/**
 * The schemas of requests and answers as JSON Schema: what the document shows, and what tells the
 * HTTP host which words of a query are numbers.
 *
 * @module
 */

import { z } from "zod";

/** A JSON Schema as far as it is looked into here. */
export interface SchemaObject {
  /** Kind of value. */
  readonly type?: string;
  /** Fields of an object. */
  readonly properties?: Readonly<Record<string, SchemaObject>>;
  /** Fields that must be there. */
  readonly required?: readonly string[];
  /** Whatever else it says. */
  readonly [keyword: string]: unknown;
}

/** A schema, and the schemas that it refers to by name. */
export interface NamedSchemas {
  /** The schema itself. */
  readonly schema: SchemaObject;
  /** Schemas by name. */
  readonly named: Readonly<Record<string, SchemaObject>>;
}

/** Writes a schema as JSON Schema 2020-12, which is what OpenAPI 3.1 takes; references are the document's. */
export function toJsonSchema(schema: z.ZodType, side: "input" | "output"): NamedSchemas {
  const made = z.toJSONSchema(schema, { io: side, unrepresentable: "any" });
  const text = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/');
  // The library made it, and it is an object schema.
  const { $defs = {}, $schema: _, ...own } = JSON.parse(text) as SchemaObject & {
    readonly $defs?: Readonly<Record<string, SchemaObject>>;
  };
  return { schema: own, named: $defs };
}
