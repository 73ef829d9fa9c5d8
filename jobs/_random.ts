/** Random hex digits, cheap enough for every job: one call to the system per few hundred. */

const POOL_BYTES = 8_192;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/** Gives so many random bytes, as lower-case hex. */
export function randomHex(bytes: number): string {
  if (used + bytes > POOL_BYTES) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  let text = "";
  for (const end = used + bytes; used < end; used++) text += HEX[pool[used] ?? 0];
  return text;
}
