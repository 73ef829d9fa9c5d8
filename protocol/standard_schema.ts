/**
 * The shape that zod, valibot, arktype and others share, so that users bring the library they like.
 *
 * It is the Standard Schema interface, version 1, written out: JSR documents only what is ours, and
 * a test proves that this and the original accept each other.
 *
 * @module
 */

/** One thing that a schema found wrong. */
export interface SchemaIssue {
  /** What, for people. */
  readonly message: string;
  /** Where, from the outside in. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a schema says about a value: the value as the schema gives it back, or what is wrong. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** A schema of any library that follows Standard Schema. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** What every such schema has. */
  readonly "~standard": {
    /** Version of the interface. */
    readonly version: 1;
    /** The library. */
    readonly vendor: string;
    /** Judges a value, at once or later. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** Only for the compiler. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** What goes into a schema: what callers of `create` give. */
export type SchemaInput<Schema extends StandardSchema> = NonNullable<
  Schema["~standard"]["types"]
>["input"];

/** What comes out of a schema: what handlers get. */
export type SchemaOutput<Schema extends StandardSchema> = NonNullable<
  Schema["~standard"]["types"]
>["output"];

/**
 * Writes an issue as `path: message`.
 *
 * @example
 * ```ts
 * import { describeIssue } from "./standard_schema.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(describeIssue({ message: "too small", path: ["items", 0] }), "items.0: too small");
 * ```
 */
export function describeIssue(issue: SchemaIssue): string {
  const path = (issue.path ?? []).map((step) => String(typeof step === "object" ? step.key : step));
  return path.length === 0 ? issue.message : `${path.join(".")}: ${issue.message}`;
}
