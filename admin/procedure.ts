/**
 * What a procedure is: one row of the table from which both transports, the client and the document
 * are made.
 *
 * @module
 */

import type { z } from "zod";
import type { Result } from "../protocol/mod.ts";
import type { AdminError } from "./errors.ts";
import type { Capability, Identity } from "./identity.ts";
import type { AdminPorts } from "./ports.ts";

/** What a procedure is called with, beside its input. */
export interface CallContext {
  /** Who asks. */
  readonly identity: Identity;
  /** The rest of the system. */
  readonly ports: AdminPorts;
  /** About how large the answer may be. */
  readonly maxReplyBytes: number;
}

/** How a procedure is reached over HTTP. */
export interface HttpRoute {
  /** The method; `GET` takes its input from path and query, the others from path and body. */
  readonly method: "get" | "post" | "delete";
  /** The path, with `{field}` where a field of the input stands. */
  readonly path: string;
}

/** One row of the table. */
export interface Procedure<Input, Output> {
  /** What it does, in a sentence. */
  readonly summary: string;
  /** What one must be allowed to do. */
  readonly capability: Capability;
  /** How it is reached over HTTP. */
  readonly http: HttpRoute;
  /** What it takes. */
  readonly input: z.ZodType<Input>;
  /** What it gives. */
  readonly output: z.ZodType<Output>;
  /** Does it. Expected failures are values; what it throws is a fault of ours. */
  readonly run: (input: Input, context: CallContext) => Promise<Result<Output, AdminError>>;
}
