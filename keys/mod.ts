/**
 * Who may run now: keyed concurrency as leases by compare-and-set, one entry per key.
 *
 * What decides is pure: `(state | undefined, request, now) → { state, decision }`. What acts reads
 * the entry, decides, writes it if nobody else has, and repeats otherwise.
 *
 * The entry is rewritten on each change, which is why `maxQueuedPerKey` ends at 1,000: a waiting job
 * takes about 106 bytes, so the largest entry is some 106 kB (620 kB with the longest request ids),
 * and taking and giving up a slot of it costs 3 ms, against 1 ms with 100 in line and 4 to 8 ms with
 * 2,000, where the slowest hand-offs pass 50 ms. Other keys are not slowed by it.
 *
 * @module
 */

export { acquire, type AcquireDecision, type AcquireRequest, type WaitReason } from "./acquire.ts";
export {
  admit,
  type AdmitDecision,
  type AdmitRequest,
  type FullKey,
  type FullReason,
} from "./admit.ts";
export {
  type Acquired,
  type Acquisition,
  type Admission,
  type Admitted,
  type Decided,
  type Keys,
  type KeysOptions,
  openKeys,
  type RevokeOptions,
} from "./coordinator.ts";
export { type HeldSlot, type HoldOptions, holdSlot } from "./held_slot.ts";
export { type Candidate, type CandidateOptions, standForSeat } from "./elect.ts";
export { type Decide, type Entries, type EntriesOptions, openEntries } from "./entries.ts";
export {
  type JobFate,
  type JobFates,
  type KeyedJobs,
  type Needed,
  NO_FATES,
  type Supersession,
} from "./fate.ts";
export {
  handBack,
  type HandBackRequest,
  type NotOwner,
  release,
  type ReleaseDecision,
  renew,
  type RenewDecision,
  type RenewRequest,
  type SlotClaim,
  withdraw,
  type WithdrawDecision,
  type WithdrawRequest,
} from "./hold.ts";
export { deriveJobKey, type JobKey, type JobKeyFailure, MAX_KEY_LENGTH } from "./job_key.ts";
export { keepLease, type KeepLeaseOptions, type KeptLease, type Renewal } from "./keep_lease.ts";
export { decodeKeyState, encodeKeyState } from "./key_entry.ts";
export { KeyError, type KeyFailure } from "./key_error.ts";
export {
  type ActiveSlot,
  type Change,
  type KeyIdentity,
  type KeyPlace,
  type KeyPolicy,
  keyPolicy,
  type KeyRequest,
  type KeyState,
  type QueuedJob,
} from "./key_state.ts";
export {
  expiredFrom,
  grantLease,
  heldUntil,
  isExpired,
  type Lease,
  silentFrom,
  SKEW_TOLERANCE_MS,
  stoppedFrom,
} from "./lease.ts";
export { PATIENCE_MS } from "./line.ts";
export {
  claimSeat,
  decodeSeat,
  encodeSeat,
  resignSeat,
  type Seat,
  type SeatClaim,
  type SeatDecision,
  type SeatHolder,
} from "./owner.ts";
export {
  type KeyLine,
  type LineOptions,
  openQueueKeys,
  type QueueKeys,
  type QueueKeysOptions,
  type TakenTurn,
} from "./queue_keys.ts";
export { isBlocked, RESERVATION_GRACE_MS } from "./reclaim.ts";
export { revoke, type RevokeDecision, type RevokeRequest } from "./revoke.ts";
export {
  openTurns,
  REREAD_MS,
  type TakeOptions,
  type TurnOutcome,
  type Turns,
  type TurnsOptions,
} from "./turns.ts";
