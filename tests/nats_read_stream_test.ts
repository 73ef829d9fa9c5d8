import assert from "node:assert/strict";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import {
  type Connection,
  connectNats,
  openReading,
  parseDelivery,
  ReadingEnded,
  readMessageTime,
  readNext,
  readStreamState,
  type StreamMessage,
  type StreamReading,
} from "../nats/mod.ts";
import { startNatsServer } from "../testing/mod.ts";
import { within } from "./job_service.ts";
import { testOnBothServers } from "./servers.ts";

const read = (message: StreamMessage) => message;
const options = () => ({ giveUpAt: Date.now() + 5_000 });

async function makeStream(nc: NatsConnection, count: number): Promise<void> {
  await (await jetstreamManager(nc)).streams.add({
    name: "S",
    subjects: ["s.>"],
    allow_direct: true,
  });
  const js = jetstream(nc);
  for (let n = 1; n <= count; n++) await js.publish(`s.${n % 3}`, String(n));
}

async function takeMany(reading: StreamReading, count: number): Promise<StreamMessage[]> {
  const found: StreamMessage[] = [];
  while (found.length < count) found.push(...await within("message", reading.take(1_000)));
  return found;
}

const places = (messages: readonly StreamMessage[]) => messages.map(({ sequence }) => sequence);
const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

testOnBothServers(
  "openReading() gives every message once, in order, from a place on, and then what comes",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    await makeStream(nc, 250);
    await using connection = await connectNats({ servers: server.url });
    using reading = await openReading(connection, { read, stream: "S", from: 101, buffer: 64 });
    assert.equal(reading.pendingAtStart, 150);
    const found = await takeMany(reading, 150);
    assert.deepEqual(places(found), range(101, 250));
    assert.equal(found.at(-1)?.pending, 0);
    assert.equal(
      found[0]?.storedNs,
      await readMessageTime(connection, "S", 101, options()),
    );
    await jetstream(nc).publish("s.1", "live");
    const [live] = await within("live message", reading.take(10));
    assert.equal(new TextDecoder().decode(live?.data), "live");

    using filtered = await openReading(connection, { read, stream: "S", from: 1, filter: "s.0" });
    assert.deepEqual(places(await takeMany(filtered, 83)).slice(0, 3), [3, 6, 9]);
    using newest = await openReading(connection, {
      read,
      stream: "S",
      from: "last-per-subject",
      filter: "s.>",
    });
    assert.deepEqual(places(await takeMany(newest, 3)), [248, 249, 251].toSorted());
  },
);

testOnBothServers(
  "openReading() waits for as many as were asked for while there are more",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    await makeStream(nc, 300);
    await using connection = await connectNats({ servers: server.url });
    using reading = await openReading(connection, { read, stream: "S", from: 1 });
    const sizes: number[] = [];
    for (let left = 300; left > 0;) {
      const { length } = await within("messages", reading.take(100));
      sizes.push(length);
      left -= length;
    }
    assert.deepEqual(sizes, [100, 100, 100]);
  },
);

for (const version of ["newest", "floor"] as const) {
  Deno.test(`openReading() reads messages of megabytes without holding many [${version}]`, async () => {
    await using server = await startNatsServer({ version, config: "max_payload: 4MB" });
    await using nc = await connect({ servers: server.url });
    await makeStream(nc, 1);
    const body = new Uint8Array(3_500_000);
    for (let n = 0; n < 12; n++) await jetstream(nc).publish("s.big", body);
    await using connection = await connectNats({ servers: server.url });
    using reading = await openReading(connection, { read, stream: "S", from: 1 });
    let most = 0;
    const found: number[] = [];
    while (found.length < 13) {
      const messages = await within("message", reading.take(1_000));
      most = Math.max(most, messages.length);
      found.push(...places(messages));
    }
    assert.deepEqual(found, range(1, 13));
    assert.ok(most <= 6, `${most} large messages at once`);
  });
}

testOnBothServers(
  "openReading() ends when the connection breaks, the consumer goes or the stream does",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    await makeStream(nc, 5);
    await using connection = await connectNats({ servers: server.url });
    const manager = await jetstreamManager(nc);
    const open = async (): Promise<StreamReading> => {
      const reading = await openReading(connection, { read, stream: "S", from: 1 });
      try {
        await takeMany(reading, 5);
        return reading;
      } catch (error) {
        // It was opened while the connection was still being made anew.
        if (error instanceof ReadingEnded) return await open();
        throw error;
      }
    };
    using first = await open();
    const [consumer] = await manager.consumers.list("S").next();
    await manager.consumers.delete("S", consumer?.name ?? "");
    await within("end", assert.rejects(first.take(1), ReadingEnded), 10_000);

    using second = await open();
    const broken = within("end", assert.rejects(second.take(1), /the connection broke/));
    await server.kill();
    await broken;
    await server.restart();

    using third = await open();
    await using again = await connect({ servers: server.url });
    await (await jetstreamManager(again)).streams.delete("S");
    await within("end", assert.rejects(third.take(1), ReadingEnded), 15_000);
    await assert.rejects(
      openReading(connection, { read, stream: "S", from: 1 }),
      /stream not found/,
    );

    await makeStream(again, 5);
    using fourth = await open();
    fourth.end("it is enough");
    await assert.rejects(fourth.take(1), /Cannot read on: it is enough/);
  },
);

testOnBothServers("a reading that ended leaves no consumer behind", async (server) => {
  await using nc = await connect({ servers: server.url });
  await makeStream(nc, 5);
  await using connection = await connectNats({ servers: server.url });
  for (let n = 0; n < 3; n++) {
    using reading = await openReading(connection, { read, stream: "S", from: 1 });
    await takeMany(reading, 5);
  }
  await connection.flush();
  const left = await (await jetstreamManager(nc)).consumers.list("S").next();
  assert.deepEqual(left, []);
});

testOnBothServers("readStreamState() and readNext() tell what a stream holds", async (server) => {
  await using nc = await connect({ servers: server.url });
  await makeStream(nc, 9);
  await using connection = await connectNats({ servers: server.url });
  await (await jetstreamManager(nc)).streams.purge("S", { seq: 4 });
  const state = await readStreamState(connection, "S", options());
  assert.deepEqual(
    [state.firstSequence, state.lastSequence, state.messages],
    [4, 9, 6],
  );
  assert.equal((await readNext(connection, "S", "s.1", 1, options()))?.sequence, 4);
  assert.equal((await readNext(connection, "S", "s.1", 5, options()))?.sequence, 7);
  assert.equal(await readNext(connection, "S", "s.1", 8, options()), undefined);
  assert.equal(await readMessageTime(connection, "S", 3, options()), undefined);
});

Deno.test("openReading() ends rather than pass over a message that got lost on the way", async () => {
  await using server = await startNatsServer();
  await using nc = await connect({ servers: server.url });
  await makeStream(nc, 9);
  await using connection = await connectNats({ servers: server.url });
  for (const lost of [5, 9]) {
    using reading = await openReading(losing(connection, lost), { read, stream: "S", from: 1 });
    const found: number[] = [];
    const all = (async () => {
      for (;;) found.push(...places(await reading.take(1)));
    })();
    await within("end", assert.rejects(all, /a message was missed/));
    assert.deepEqual(found, range(1, lost - 1));
  }
});

/** A connection that loses the message at a place of the stream. */
function losing(connection: Connection, lost: number): Connection {
  return new Proxy(connection, {
    get(target, name) {
      if (name !== "subscribe") {
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      }
      const subscribe: Connection["subscribe"] = (subject, { callback, ...rest }) =>
        target.subscribe(subject, {
          ...rest,
          callback(error, message) {
            if (parseDelivery(message.reply)?.streamSequence !== lost) callback(error, message);
          },
        });
      return subscribe;
    },
  });
}
