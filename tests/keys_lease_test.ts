import assert from "node:assert/strict";
import { keepLease, type Renewal, standForSeat } from "../keys/mod.ts";
import { ADMIN_BUCKET, valueOrThrow } from "../mod.ts";
import { within } from "./job_service.ts";
import {
  acquisition,
  admission,
  connectKeys,
  keyOf,
  provisioned,
  writtenHistory,
} from "./keys_world.ts";
import { testOnBothServers } from "./servers.ts";

testOnBothServers(
  "keepLease() keeps a slot for longer than its lease, and learns of its loss",
  async (server) => {
    await provisioned(server);
    const history = writtenHistory();
    await using process = await connectKeys(server, history, {
      heartbeatIntervalMs: 100,
      heartbeatTtlMs: 300,
    });
    const { keys } = process;
    valueOrThrow(await keys.admit(admission(1)));
    const acquired = valueOrThrow(await keys.acquire(acquisition(1)));
    assert.ok(acquired.kind === "acquired");
    let renewals = 0;
    const { promise: lost, resolve: onLost } = Promise.withResolvers<string>();
    const { promise: kept, resolve: onKept } = Promise.withResolvers<void>();
    const renew = async (): Promise<Renewal> => {
      const decided = await keys.renew(keyOf(), acquisition(1));
      if (!decided.ok) return { kind: "unknown", why: decided.error.message };
      if (decided.value.kind === "not-owner") return { kind: "lost", why: "another has it" };
      if (++renewals === 8) onKept();
      return decided.value;
    };
    const lease = keepLease({ lease: acquired.slot, intervalMs: 100, renew, onLost });
    await within("eight renewals", kept);
    assert.ok(lease.lease().leaseExpiresAt > acquired.slot.leaseExpiresAt + 300);
    assert.equal(await lease.confirm(), true);
    valueOrThrow(await keys.revoke(keyOf()));
    assert.equal(await within("loss", lost), "another has it");
    assert.equal(lease.isLost(), true);
    assert.equal(await lease.renew(), false);
  },
);

testOnBothServers(
  "keepLease() gives up when nobody answers until the lease runs out",
  async (server) => {
    await provisioned(server);
    await using process = await connectKeys(server, writtenHistory(), {
      heartbeatIntervalMs: 200,
      heartbeatTtlMs: 1_000,
    });
    const { keys } = process;
    valueOrThrow(await keys.admit(admission(1)));
    const acquired = valueOrThrow(await keys.acquire(acquisition(1)));
    assert.ok(acquired.kind === "acquired");
    const { promise: lost, resolve: onLost } = Promise.withResolvers<string>();
    const renew = async (): Promise<Renewal> => {
      const decided = await keys.renew(keyOf(), acquisition(1));
      return decided.ok && decided.value.kind === "renewed"
        ? decided.value
        : { kind: "unknown", why: "nobody answers" };
    };
    await server.kill();
    keepLease({ lease: acquired.slot, intervalMs: 200, renew, onLost });
    assert.match(await within("loss", lost), /^it was not renewed in time: /);
    assert.ok(Date.now() >= acquired.slot.leaseExpiresAt);
    assert.ok(Date.now() < acquired.slot.leaseExpiresAt + 1_000, "at once");
    await server.restart();
  },
);

testOnBothServers(
  "standForSeat() lets one of three work, and another when it dies or stops",
  async (server) => {
    await provisioned(server);
    const terms: string[] = [];
    let working = 0;
    let changed = () => {};
    await using crowd = new AsyncDisposableStack();
    const candidates = await Promise.all(["a", "b", "c"].map(async (holder) => {
      const process = crowd.use(await connectKeys(server, writtenHistory()));
      const candidate = standForSeat({
        ...process,
        bucket: ADMIN_BUCKET,
        entryKey: "owner",
        holder,
        ttlMs: 1_000,
        intervalMs: 200,
        async work({ term, signal }) {
          assert.equal(++working, 1, "one at a time");
          terms.push(`${holder}${term}`);
          changed();
          await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
          working--;
        },
      });
      crowd.defer(() => candidate.stop());
      return { holder, candidate, process };
    }));
    const elected = (count: number) =>
      within(
        `election ${count}`,
        new Promise<void>((resolve) => {
          changed = () => terms.length >= count && resolve();
          changed();
        }),
      );
    const owner = () => {
      const found = candidates.find(({ candidate }) => candidate.term() !== undefined);
      assert.ok(found);
      return found;
    };
    await elected(1);
    await owner().candidate.stop();
    await elected(2);
    assert.match(terms[1] ?? "", /^[abc]2$/);
    // Cut off, it cannot renew: it stops by itself, and another follows.
    await owner().process.connection.close();
    await elected(3);
    assert.match(terms[2] ?? "", /^[abc]3$/);
    assert.equal(new Set(terms.map((term) => term[0])).size, 3);
  },
);
