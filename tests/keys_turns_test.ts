import assert from "node:assert/strict";
import { valueOrThrow } from "../mod.ts";
import { within } from "./job_service.ts";
import { job, numbers } from "./keys_fixtures.ts";
import {
  acquisition,
  admission,
  connectKeys,
  keyOf,
  provisioned,
  writtenHistory,
} from "./keys_world.ts";
import { testOnBothServers } from "./servers.ts";

const NEVER = new AbortController().signal;

testOnBothServers(
  "turns: 60 jobs of one key in 3 processes run one by one, in line, woken by each other",
  async (server) => {
    await provisioned(server);
    const history = writtenHistory();
    await using crowd = new AsyncDisposableStack();
    const processes = await Promise.all(
      Array.from(
        { length: 3 },
        async () => crowd.use(await connectKeys(server, history, { maxQueuedPerKey: 100 })),
      ),
    );
    const [first] = processes;
    assert.ok(first);
    const count = 60;
    for (let n = 0; n < count; n++) valueOrThrow(await first.keys.admit(admission(n)));
    const order: number[] = [];
    let running = 0;
    await within(
      "end of the line",
      Promise.all(Array.from({ length: count }, async (_, n) => {
        const process = processes[n % 3] ?? first;
        const taken = valueOrThrow(await process.turns.take(acquisition(n), { signal: NEVER }));
        assert.equal(taken.kind, "acquired");
        assert.equal(++running, 1);
        order.push(n);
        await process.connection.flush();
        running--;
        valueOrThrow(await process.keys.release(keyOf(), acquisition(n)));
      })),
    );
    assert.deepEqual(order, Array.from({ length: count }, (_, n) => n));
    assert.equal(valueOrThrow(await first.keys.read(keyOf())), undefined);
  },
);

testOnBothServers(
  "turns: a waiting job can be called away, and keeps its place",
  async (server) => {
    await provisioned(server);
    await using process = await connectKeys(server, writtenHistory());
    const { keys, turns } = process;
    for (const n of [1, 2]) valueOrThrow(await keys.admit(admission(n)));
    valueOrThrow(await keys.acquire(acquisition(1)));
    const away = new AbortController();
    const taken = turns.take(acquisition(2), { signal: away.signal, onWait: () => away.abort() });
    assert.deepEqual(valueOrThrow(await within("end of waiting", taken)), { kind: "aborted" });
    assert.equal(turns.waiting().size, 0);
    const state = valueOrThrow(await keys.read(keyOf()));
    assert.deepEqual(numbers(state), { active: [1], queued: [2] });
  },
);

testOnBothServers(
  "turns: a dead owner's slot is taken when its lease runs out, and its job is stale first",
  async (server) => {
    await provisioned(server);
    const history = writtenHistory();
    const policy = { heartbeatIntervalMs: 200, heartbeatTtlMs: 400 };
    await using process = await connectKeys(server, history, policy);
    const { keys, turns } = process;
    for (const n of [1, 2]) valueOrThrow(await keys.admit(admission(n)));
    valueOrThrow(await keys.acquire(acquisition(1)));
    history.fates.set(job(1), { kind: "active", slotToken: "token-1" });
    const taken = await within("takeover", turns.take(acquisition(2), { signal: NEVER }));
    const outcome = valueOrThrow(taken);
    assert.equal(outcome.kind === "acquired" && outcome.staleTakeoverCount, 1);
    assert.deepEqual(history.superseded.map(({ slot }) => slot.jobId), [job(1)]);
    const late = valueOrThrow(await keys.renew(keyOf(), acquisition(1)));
    assert.equal(late.kind, "not-owner", "the old owner learns of it");
  },
);

testOnBothServers("turns: a server that restarts costs time and nothing else", async (server) => {
  await provisioned(server);
  const history = writtenHistory();
  const policy = { heartbeatIntervalMs: 5_000, heartbeatTtlMs: 60_000 };
  await using one = await connectKeys(server, history, policy);
  await using two = await connectKeys(server, history, policy);
  for (const n of [1, 2]) valueOrThrow(await one.keys.admit(admission(n)));
  valueOrThrow(await one.keys.acquire(acquisition(1)));
  const taken = two.turns.take(acquisition(2), { signal: NEVER });
  await server.kill();
  const released = one.keys.release(keyOf(), acquisition(1));
  await server.restart();
  assert.ok((await within("release", released)).ok);
  assert.equal(valueOrThrow(await within("turn", taken)).kind, "acquired");
});
