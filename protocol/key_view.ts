/**
 * A key as people see it: who runs, who waits, and whether somebody must help.
 *
 * @module
 */

/** A job that runs, and the lease of its slot. */
export interface KeyHolder {
  /** The job. */
  readonly jobId: string;
  /** The worker process. */
  readonly instanceId: string;
  /** When it got the slot, RFC 3339. */
  readonly startedAt: string;
  /** Last renewal of the lease, RFC 3339. */
  readonly heartbeatAt: string;
  /** When the lease runs out, RFC 3339. */
  readonly leaseExpiresAt: string;
  /** The number of the try. */
  readonly tries: number;
}

/** A job that waits. */
export interface KeyWaiter {
  /** The job. */
  readonly jobId: string;
  /** When it came into the line, RFC 3339. */
  readonly createdAt: string;
  /** Later jobs pass it until then, RFC 3339: the wait before a retry, or a snooze. */
  readonly notBefore?: string;
}

/** Everything about one key. */
export interface KeyView {
  /** The key for people. */
  readonly key: string;
  /** The key for coordination. */
  readonly keyHash: string;
  /** Jobs that may run at once. */
  readonly maxActive: number;
  /** Jobs that may wait. */
  readonly maxQueuedPerKey: number;
  /** The jobs that run. */
  readonly active: readonly KeyHolder[];
  /** The jobs that wait, in their order. */
  readonly queued: readonly KeyWaiter[];
  /** A lease has run out, and the queue's policy is that only its owner or an operator frees the slot. */
  readonly blocked: boolean;
  /** How often a stale owner was superseded since the key was last empty. */
  readonly staleTakeoverCount: number;
}
