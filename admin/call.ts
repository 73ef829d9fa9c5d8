/**
 * Calling a procedure, the same for every transport: may they, is it well-formed, do it.
 *
 * @module
 */

import type { z } from "zod";
import { err, type Result } from "../protocol/mod.ts";
import { AdminError } from "./errors.ts";
import { permit } from "./identity.ts";
import type { CallContext, Procedure } from "./procedure.ts";
import { type OutputOf, type ProcedureName, PROCEDURES } from "./procedures.ts";

/** A call and how faults of ours are told. */
export interface Call extends CallContext {
  /** Told what a procedure threw: the caller learns only that it was a fault. */
  readonly onFault?: (what: string, fault: unknown) => void;
}

/** Calls a procedure with input that nobody has looked at yet. */
export async function callProcedure<Name extends ProcedureName>(
  name: Name,
  input: unknown,
  call: Call,
): Promise<Result<OutputOf<Name>, AdminError>> {
  const procedure: Procedure<ProcedureInput<Name>, OutputOf<Name>> = PROCEDURES[name];
  const permitted = permit(call.identity, procedure.capability);
  if (!permitted.ok) return permitted;
  const parsed = procedure.input.safeParse(input);
  if (!parsed.success) return err(invalid(name, parsed.error));
  try {
    return await procedure.run(parsed.data, call);
  } catch (fault) {
    call.onFault?.(name, fault);
    const message = `Cannot do ${name}: the admin failed, its log says why`;
    return err(new AdminError("internal", message));
  }
}

type ProcedureInput<Name extends ProcedureName> = Parameters<
  (typeof PROCEDURES)[Name]["run"]
>[0];

/** The first thing that is wrong with a request, by its field. */
export function invalid(name: string, error: z.ZodError): AdminError {
  const [issue] = error.issues;
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const path = [...issue?.path ?? [], ...(unknown === undefined ? [] : [unknown])].join(".");
  const why = unknown === undefined ? issue?.message ?? "not readable" : "there is no such field";
  const message = `Cannot do ${name}: ${path === "" ? "the request" : path} is not valid, ${why}`;
  return new AdminError("validation", message, path === "" ? {} : { field: path });
}
