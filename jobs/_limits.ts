/** What a caller may ask of a single job: numbers that mean nothing are bugs, and throw. */

/** The limits of a job. */
export interface JobLimits {
  /** Tries. */
  readonly maxTries?: number;
  /** Milliseconds until nobody wants the result. */
  readonly deadlineMs?: number;
}

/** Throws `RangeError` for limits that no event could carry. */
export function checkLimits(verb: string, { maxTries, deadlineMs }: JobLimits): void {
  if (maxTries !== undefined && !(Number.isSafeInteger(maxTries) && maxTries >= 1)) {
    throw new RangeError(`Cannot ${verb}: maxTries is ${maxTries}, not a whole number from 1`);
  }
  if (deadlineMs !== undefined && !(deadlineMs >= 0 && deadlineMs < 1e13)) {
    throw new RangeError(
      `Cannot ${verb}: deadlineMs is ${deadlineMs}, not a number of milliseconds from 0`,
    );
  }
}
