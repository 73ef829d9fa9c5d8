/**
 * The admin's client: every procedure of the table as a typed method, over whatever transport.
 *
 * @module
 */

import { type AsyncResult, asyncResult, err, ok, type Result } from "../../protocol/mod.ts";
import { AdminError } from "../errors.ts";
import {
  type InputOf,
  type OutputOf,
  PROCEDURE_NAMES,
  type ProcedureName,
  PROCEDURES,
} from "../procedures.ts";

/** Carries a call and brings the answer, read as JSON and not looked at yet. */
export type Transport = (
  name: ProcedureName,
  input: unknown,
) => Promise<Result<unknown, AdminError>>;

/** Every procedure as a method: `client.list({ limit: 50 })`. */
export type AdminClient = {
  readonly [Name in ProcedureName as Uncapitalize<Name>]: (
    input: InputOf<Name>,
  ) => AsyncResult<OutputOf<Name>, AdminError>;
};

/** Makes a client over a transport. Expected failures are values; nothing is thrown for them. */
export function createAdminClient(transport: Transport): AdminClient {
  const methods = PROCEDURE_NAMES.map((name) => [
    name.charAt(0).toLowerCase() + name.slice(1),
    (input: unknown) => asyncResult(call(transport, name, input)),
  ]);
  // One method per row of the table, with the types of that row: the compiler cannot count along.
  return Object.fromEntries(methods) as AdminClient;
}

async function call<Name extends ProcedureName>(
  transport: Transport,
  name: Name,
  input: unknown,
): Promise<Result<unknown, AdminError>> {
  const answered = await transport(name, input);
  if (!answered.ok) return answered;
  const parsed = PROCEDURES[name].output.safeParse(answered.value);
  if (parsed.success) return ok(parsed.data);
  const [issue] = parsed.error.issues;
  const where = issue?.path.join(".") ?? "";
  const message = `Cannot read the answer to ${name}: ${where} ${issue?.message ?? ""}`.trimEnd();
  return err(new AdminError("internal", `${message}; is the admin of another version?`));
}
