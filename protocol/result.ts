/**
 * Expected outcomes as values: `Result`, and a promise of one that can be turned into a throw.
 *
 * @module
 */

/** A success that carries a value. */
export interface Ok<T> {
  /** Always `true`: the discriminant. */
  readonly ok: true;
  /** What was asked for. */
  readonly value: T;
}

/** An expected failure that carries its reason. */
export interface Err<E> {
  /** Always `false`: the discriminant. */
  readonly ok: false;
  /** Why there is no value. */
  readonly error: E;
}

/** Either a value or an expected failure; bugs are thrown and never end up here. */
export type Result<T, E> = Ok<T> | Err<E>;

/** A promise of a {@linkcode Result} that can also be awaited as a plain value with `orThrow()`. */
export interface AsyncResult<T, E> extends Promise<Result<T, E>> {
  /** Resolves to the value, or rejects with the error (wrapped in `Error` when it is not one). */
  orThrow(): Promise<T>;
}

/**
 * Wraps a value as a success.
 *
 * @example
 * ```ts
 * import { ok } from "./result.ts";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(ok(1), { ok: true, value: 1 });
 * ```
 */
export function ok<T>(value: T): Ok<T> {
  return { ok: true, value };
}

/**
 * Wraps a reason as an expected failure.
 *
 * @example
 * ```ts
 * import { err } from "./result.ts";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(err("full"), { ok: false, error: "full" });
 * ```
 */
export function err<E>(error: E): Err<E> {
  return { ok: false, error };
}

/**
 * Gives a promise of a result its `orThrow()`.
 *
 * The promise itself is returned, not a wrapper: awaiting a native promise costs one turn of the
 * microtask queue, a subclass or a thenable costs three, and `create()` is on the hot path.
 *
 * @example
 * ```ts
 * import { asyncResult, err, ok } from "./result.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(await asyncResult(Promise.resolve(ok(1))).orThrow(), 1);
 * await assert.rejects(asyncResult(Promise.resolve(err(new Error("no")))).orThrow(), /no/);
 * ```
 */
export function asyncResult<T, E>(promise: Promise<Result<T, E>>): AsyncResult<T, E> {
  return Object.assign(promise, { orThrow: () => promise.then(valueOrThrow) });
}

/**
 * Takes the value out of a result, or throws its error.
 *
 * @example
 * ```ts
 * import { err, ok, valueOrThrow } from "./result.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(valueOrThrow(ok(1)), 1);
 * assert.throws(() => valueOrThrow(err(new RangeError("too many"))), RangeError);
 * ```
 */
export function valueOrThrow<T, E>(result: Result<T, E>): T {
  if (result.ok) return result.value;
  throw result.error instanceof Error ? result.error : new Error(describe(result.error));
}

function describe(error: unknown): string {
  if (typeof error === "object" && error !== null && "message" in error) {
    return String(error.message);
  }
  return String(error);
}
