import assert from "node:assert/strict";
import { type Keys, RESERVATION_GRACE_MS } from "../keys/mod.ts";
import { KEYS_BUCKET, keyStateKey, valueOrThrow } from "../mod.ts";
import { createPublisher, readEntry, writeEntry } from "../nats/mod.ts";
import { job, numbers } from "./keys_fixtures.ts";
import {
  acquisition,
  admission,
  connectKeys,
  keyOf,
  provisioned,
  QUEUE,
  writtenHistory,
} from "./keys_world.ts";
import { testOnBothServers } from "./servers.ts";

async function stored(keys: Keys) {
  return numbers(valueOrThrow(await keys.read(keyOf())));
}

testOnBothServers(
  "keys: a job's way from its reservation to an entry that is gone",
  async (server) => {
    await provisioned(server);
    await using one = await connectKeys(server, writtenHistory());
    await using two = await connectKeys(server, writtenHistory());
    const admitted = valueOrThrow(await one.keys.admit(admission(1)));
    assert.deepEqual(admitted, { kind: "admitted" });
    const acquired = valueOrThrow(await two.keys.acquire(acquisition(1)));
    assert.equal(acquired.kind, "acquired");
    assert.deepEqual(await stored(one.keys), { active: [1], queued: [] });
    const renewed = valueOrThrow(await two.keys.renew(keyOf(), acquisition(1)));
    assert.equal(renewed.kind, "renewed");
    assert.equal(
      valueOrThrow(await one.keys.release(keyOf(), { jobId: job(1), slotToken: "?" })).kind,
      "not-owner",
    );
    assert.equal(valueOrThrow(await two.keys.release(keyOf(), acquisition(1))).kind, "released");
    const key = keyStateKey(QUEUE, keyOf().keyHash);
    const entry = await readEntry(one.connection, KEYS_BUCKET, key, {
      giveUpAt: Date.now() + 5_000,
    });
    assert.equal(entry.value, undefined, "nothing is left of it");
    assert.deepEqual(valueOrThrow(await one.keys.admit(admission(2))), { kind: "admitted" });
  },
);

testOnBothServers(
  "keys: 20 processes fill a key at once and nobody comes in too many",
  async (server) => {
    await provisioned(server);
    const history = writtenHistory();
    await using crowd = new AsyncDisposableStack();
    const processes = await Promise.all(
      Array.from(
        { length: 20 },
        async () =>
          crowd.use(await connectKeys(server, history, { maxActive: 3, maxQueuedPerKey: 97 })),
      ),
    );
    const decided = await Promise.all(
      processes.flatMap(({ keys }, at) =>
        Array.from({ length: 10 }, (_, n) => keys.admit(admission(at * 10 + n)))
      ),
    );
    const kinds = decided.map((result) => result.ok ? result.value.kind : result.error.reason);
    assert.equal(
      kinds.filter((kind) => kind === "admitted").length,
      100,
    );
    assert.equal(kinds.filter((kind) => kind === "full").length, 100, kinds.join());
    const [first] = processes;
    assert.ok(first);
    const state = valueOrThrow(await first.keys.read(keyOf()));
    assert.equal(state?.queued.length, 100);
    const attempts = await Promise.all(
      processes.flatMap(({ keys }, at) =>
        Array.from({ length: 10 }, (_, n) => keys.acquire(acquisition(at * 10 + n)))
      ),
    );
    const slots = attempts.filter((result) => result.ok && result.value.kind === "acquired");
    assert.equal(slots.length, 3);
  },
);

testOnBothServers("keys: what cannot be read is an error and is left as it is", async (server) => {
  await provisioned(server);
  await using process = await connectKeys(server, writtenHistory());
  const entryKey = keyStateKey(QUEUE, keyOf().keyHash);
  using publisher = createPublisher(process.connection);
  const rubbish = new TextEncoder().encode(`{"version":1,"active":[]}`);
  await writeEntry(publisher, KEYS_BUCKET, entryKey, rubbish, 0);
  const refused = await process.keys.admit(admission(1));
  assert.ok(!refused.ok);
  assert.equal(refused.error.reason, "unreadable");
  assert.equal(refused.error.retryable, false);
  assert.match(refused.error.message, /^Cannot read the entry billing\.charge\.0+1 of JOBS_KEYS: /);
  const left = await readEntry(process.connection, KEYS_BUCKET, entryKey, {
    giveUpAt: Date.now() + 5_000,
  });
  assert.deepEqual(left.value && new Uint8Array(left.value), rubbish);
});

testOnBothServers(
  "keys: a full key is looked through before it refuses, and heals",
  async (server) => {
    await provisioned(server);
    const history = writtenHistory();
    await using process = await connectKeys(server, history, { maxQueuedPerKey: 1 });
    const { keys } = process;
    for (const n of [1, 2]) valueOrThrow(await keys.admit(admission(n)));
    valueOrThrow(await keys.acquire(acquisition(1)));
    history.fates.set(job(1), { kind: "active", slotToken: "token-1" });
    const full = valueOrThrow(await keys.admit(admission(3)));
    assert.deepEqual(full, { kind: "full", reason: "queue-depth", active: 1, queued: 1, limit: 2 });
    assert.deepEqual(history.asked.toSorted(), [job(1), job(2)]);
    history.fates.set(job(2), { kind: "ended", state: "cancelled" });
    assert.equal(valueOrThrow(await keys.admit(admission(3))).kind, "admitted");
    assert.deepEqual(await stored(keys), { active: [1], queued: [3] });
    history.fates.set(job(1), { kind: "ended", state: "completed", slotToken: "token-1" });
    assert.equal(valueOrThrow(await keys.admit(admission(4))).kind, "admitted");
    assert.deepEqual(await stored(keys), { active: [], queued: [3, 4] });
  },
);

testOnBothServers(
  "keys: a reservation whose job never came is gone after its grace",
  async (server) => {
    await provisioned(server);
    const history = writtenHistory();
    history.fates.set(job(1), { kind: "absent" });
    const policy = { maxQueuedPerKey: 0 };
    await using process = await connectKeys(server, history, policy);
    const later = () => Date.now() + RESERVATION_GRACE_MS + 1;
    await using future = await connectKeys(server, history, policy, { clock: later });
    valueOrThrow(await process.keys.admit(admission(1)));
    const full = valueOrThrow(await process.keys.admit(admission(2)));
    assert.equal(full.kind, "full", "it may still come");
    assert.equal(valueOrThrow(await future.keys.admit(admission(2))).kind, "admitted");
    assert.deepEqual(await stored(process.keys), { active: [], queued: [2] });
  },
);

testOnBothServers(
  "keys: policies coalesce, replace, and wait for a job that is on its way",
  async (server) => {
    await provisioned(server);
    const history = writtenHistory();
    await using process = await connectKeys(server, history, { maxQueuedPerKey: 1 });
    const { keys } = process;
    for (const n of [1, 2]) valueOrThrow(await keys.admit(admission(n)));
    valueOrThrow(await keys.acquire(acquisition(1)));
    history.fates.set(job(1), { kind: "active", slotToken: "token-1" });
    const coalesced = await keys.admit({ ...admission(3), whenFull: "coalesce" });
    assert.deepEqual(valueOrThrow(coalesced), { kind: "coalesced", jobId: job(2) });
    history.fates.set(job(2), { kind: "absent" });
    const replacing = keys.admit({ ...admission(4), whenFull: "replace-oldest" });
    await process.connection.flush();
    history.fates.set(job(2), { kind: "waiting" });
    assert.deepEqual(valueOrThrow(await replacing), { kind: "replaced", replacedJobId: job(2) });
    const replaced = valueOrThrow(await keys.acquire(acquisition(2)));
    assert.equal(replaced.kind === "replaced" && replaced.byJobId, job(4));
  },
);

testOnBothServers(
  "keys: a blocked key stays blocked until somebody frees it by hand",
  async (server) => {
    await provisioned(server);
    const history = writtenHistory();
    const policy = { stalePolicy: "block", maxQueuedPerKey: 1 } as const;
    const later = () => Date.now() + 60_000;
    await using process = await connectKeys(server, history, policy);
    await using future = await connectKeys(server, history, policy, { clock: later });
    for (const n of [1, 2]) valueOrThrow(await process.keys.admit(admission(n)));
    valueOrThrow(await process.keys.acquire(acquisition(1)));
    history.fates.set(job(1), { kind: "active", slotToken: "token-1" });
    const waiting = valueOrThrow(await future.keys.acquire(acquisition(2)));
    assert.equal(waiting.kind === "wait" && waiting.why, "blocked");
    const refused = valueOrThrow(await future.keys.admit(admission(3)));
    assert.equal(refused.kind === "full" && refused.reason, "stale-blocked");
    const freed = valueOrThrow(await process.keys.revoke(keyOf()));
    assert.deepEqual(freed.map(({ jobId }) => jobId), [job(1)]);
    assert.deepEqual(history.superseded.map(({ slot }) => slot.jobId), [job(1)]);
    assert.equal(valueOrThrow(await future.keys.acquire(acquisition(2))).kind, "acquired");
  },
);
