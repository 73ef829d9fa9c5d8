/**
 * A small world in which the decisions of `keys/` are tried: one key, producers and workers whose
 * clocks differ and who may die or sleep between any two steps, work that is delivered again.
 */

import {
  acquire,
  type AcquireDecision,
  admit,
  type AdmitDecision,
  handBack,
  heldUntil,
  type JobFate,
  type KeyIdentity,
  type KeyPolicy,
  type Needed,
  release,
  renew,
  withdraw,
} from "../keys/mod.ts";
import type { WhenFull } from "../protocol/mod.ts";
import { createStorage, type StoredWorld } from "./keys_model_storage.ts";

/** What the world is like. */
export interface ModelOptions {
  readonly maxActive: number;
  readonly maxQueuedPerKey: number;
  readonly whenFull: WhenFull;
  readonly workers: number;
  readonly jobs: number;
  /** How long a lease lasts, in renewals: with few of them nothing is kept for a redelivery. */
  readonly ttlIntervals: number;
  /** How far clocks are from the world's, by worker. */
  readonly skews: readonly number[];
  /** Nobody dies, sleeps, fails or cancels: only the order of steps is left to chance. */
  readonly peaceful?: true;
}

/** Work of a job, as the server keeps it. */
interface Message {
  readonly jobId: string;
  availableAt: number;
  /** The worker that has it, until it dies or falls silent. */
  holder: Worker | undefined;
  keptAliveAt: number;
}

/** A worker process. */
interface Worker {
  readonly name: string;
  readonly skew: number;
  sleepsUntil: number;
  lives: Life[];
}

/** One delivery that a worker lives through. */
interface Life {
  readonly message: Message;
  readonly steps: Generator<void, void, void>;
}

/** A handler that runs. */
interface Running {
  readonly worker: Worker;
  readonly jobId: string;
  lease: { heartbeatAt: number; leaseExpiresAt: number };
}

const INTERVAL_MS = 1_000;
const ACK_WAIT_MS = 3_000;
const KEY: KeyIdentity = { service: "s", jobType: "t", key: "k", keyHash: "0".repeat(64) };

/** A world, and what can be done with it. */
export interface Model {
  readonly world: StoredWorld & {
    /** Work that is not done. */
    messages: Message[];
    /** Jobs in the order in which their places were reserved. */
    readonly reserved: string[];
    /** Jobs in the order in which their handlers began. */
    readonly starts: string[];
  };
  /** Anything may happen: a step, a sleep, a death. */
  chaos(): void;
  /** Nobody dies any more and nothing is created; everyone goes on in turn. */
  settle(rounds: number): void;
  /** Creates a job as nobody else is about, and tells whether it was. */
  createAlone(): boolean;
}

/** Makes a world; `chance` gives whole numbers below its argument. */
export function createWorld(options: ModelOptions, chance: (below: number) => number): Model {
  const ttlMs = options.ttlIntervals * INTERVAL_MS;
  const policy: KeyPolicy = {
    maxActive: options.maxActive,
    maxQueuedPerKey: options.maxQueuedPerKey,
    heartbeatIntervalMs: INTERVAL_MS,
    heartbeatTtlMs: ttlMs,
    stalePolicy: "fail-stale",
  };
  const { world: stored, fateOf, write, decide } = createStorage(chance);
  const world = Object.assign(stored, {
    messages: [] as Message[],
    running: new Set<Running>(),
    starts: [] as string[],
    reserved: [] as string[],
    calm: false,
  });
  const workers: Worker[] = options.skews.slice(0, options.workers).map((skew, at) => ({
    name: `w${at}`,
    skew,
    sleepsUntil: 0,
    lives: [],
  }));
  let producers: Generator<void, void, void>[] = [];
  let lastId = 0;
  let lastToken = 0;

  function* produce(skew: number): Generator<void, void, void> {
    const jobId = String(++lastId).padStart(26, "0");
    const clock = () => world.now + skew;
    const decision = yield* decide<Exclude<AdmitDecision, Needed>>(clock, (state, now, fates) => {
      const whenFull = options.whenFull;
      const change = admit(
        state,
        { key: KEY, policy, jobId, requestId: "r", whenFull, fates },
        now,
      );
      const held = (change.state?.active.length ?? 0) + (change.state?.queued.length ?? 0);
      const before = (state?.active.length ?? 0) + (state?.queued.length ?? 0);
      const limit = options.maxActive + options.maxQueuedPerKey;
      if (change.decision.kind === "admitted" && held > Math.max(limit, before)) {
        world.problems.push(`admission of ${jobId} made ${held} of ${limit}`);
      }
      return change;
    });
    if (decision.kind !== "admitted" && decision.kind !== "replaced") return;
    world.reserved.push(jobId);
    yield;
    write(jobId, { kind: "waiting" });
    world.messages.push({ jobId, availableAt: world.now, holder: undefined, keptAliveAt: 0 });
    yield;
    if (decision.kind !== "replaced") return;
    const replaced = fateOf(decision.replacedJobId);
    if (replaced.kind === "waiting") {
      write(decision.replacedJobId, { kind: "ended", state: "skipped" });
    }
  }

  function* live(worker: Worker, message: Message): Generator<void, void, void> {
    const { jobId } = message;
    const clock = () => world.now + worker.skew;
    const slotToken = `token-${++lastToken}`;
    const claim = { jobId, slotToken };
    const done = () => void (world.messages = world.messages.filter((other) => other !== message));
    const over = function* (fate: JobFate): Generator<void, boolean, void> {
      yield;
      if (fate.kind !== "ended") return false;
      const endedWith = fate.state !== "stale" && fate.slotToken !== undefined
        ? { endedWith: fate.slotToken }
        : {};
      yield* decide(clock, (state, now) => withdraw(state, { jobId, ...endedWith }, now), jobId);
      done();
      return true;
    };
    const request = { key: KEY, policy, jobId, requestId: "r", slotToken, tries: 1 };
    let slot: { heartbeatAt: number; leaseExpiresAt: number } | undefined;
    let found: JobFate | undefined;
    while (slot === undefined) {
      found = fateOf(jobId);
      if (yield* over(found)) return;
      const decision: Exclude<AcquireDecision, Needed> = yield* decide<
        Exclude<AcquireDecision, Needed>
      >(
        clock,
        (state, now, fates) =>
          acquire(
            state,
            { ...request, instanceId: worker.name, skippable: found?.kind === "waiting", fates },
            now,
          ),
        jobId,
      );
      if (decision.kind === "replaced" && fateOf(jobId) === found) {
        write(jobId, { kind: "ended", state: "skipped" });
        return done();
      }
      if (decision.kind === "acquired") slot = decision.slot;
      yield;
    }
    const hold = function* (): Generator<void, boolean, void> {
      const renewal = { ...claim, ttlMs };
      const renewed = yield* decide(clock, (state, now) => renew(state, renewal, now));
      if (renewed.kind === "renewed") slot = renewed.lease;
      return renewed.kind === "renewed";
    };
    // The start is stored only if nothing happened to the job since it was looked at; and whoever
    // has to look again must still have its slot.
    while (fateOf(jobId) !== found) {
      found = fateOf(jobId);
      yield;
      if (!(yield* hold())) return;
      if (found.kind !== "ended") continue;
      yield* decide(clock, (state, now) => release(state, claim, now), jobId);
      return done();
    }
    write(jobId, { kind: "active", slotToken });
    yield;
    if (clock() - slot.heartbeatAt >= INTERVAL_MS && !(yield* hold())) return;
    const running: Running = { worker, jobId, lease: slot };
    if (clock() >= heldUntil(slot, INTERVAL_MS)) return;
    world.running.add(running);
    world.starts.push(jobId);
    let lost = false;
    for (let step = chance(4); step >= 0 && !lost; step--) {
      yield;
      lost = clock() >= heldUntil(running.lease, INTERVAL_MS);
      if (lost || chance(2) > 0) continue;
      lost = !(yield* hold());
      running.lease = slot;
    }
    world.running.delete(running);
    if (lost || !(yield* hold())) return;
    yield;
    const own = fateOf(jobId);
    if (own.kind !== "active" || own.slotToken !== slotToken) {
      // Somebody ended it: the slot is given up now that the handler has returned.
      yield* decide(clock, (state, now) => release(state, claim, now), jobId);
      return own.kind === "ended" ? done() : undefined;
    }
    if (!world.calm && options.peaceful !== true && chance(3) === 0) {
      const delayMs = chance(2) * 5_000;
      write(jobId, { kind: "waiting" });
      yield;
      const back = delayMs === 0 ? claim : { ...claim, notBefore: clock() + delayMs };
      yield* decide(clock, (state, now) => handBack(state, back, now), jobId);
      message.holder = undefined;
      message.availableAt = world.now + delayMs;
      return;
    }
    write(jobId, { kind: "ended", state: "completed", slotToken });
    yield;
    yield* decide(clock, (state, now) => release(state, claim, now), jobId);
    yield;
    done();
  }

  const deliver = () => {
    for (const message of world.messages) {
      const { holder } = message;
      // Whoever is not heard for so long has lost the delivery, whether it knows it or not.
      if (holder !== undefined && world.now - message.keptAliveAt > ACK_WAIT_MS) {
        message.holder = undefined;
      }
      if (message.holder !== undefined || message.availableAt > world.now) continue;
      const worker = workers[chance(workers.length)];
      if (worker === undefined) continue;
      message.holder = worker;
      message.keptAliveAt = world.now;
      worker.lives.push({ message, steps: live(worker, message) });
    }
  };
  const kill = (worker: Worker) => {
    for (const running of world.running) {
      if (running.worker === worker) world.running.delete(running);
    }
    worker.lives = [];
  };
  const cancel = () => {
    const alive = [...world.jobs].filter(([, fate]) => fate.kind !== "ended");
    const [jobId] = alive[chance(Math.max(alive.length, 1))] ?? [];
    if (jobId !== undefined) write(jobId, { kind: "ended", state: "cancelled" });
  };
  const stepWorker = (worker: Worker) => {
    if (world.now < worker.sleepsUntil) return;
    const life = worker.lives[chance(Math.max(worker.lives.length, 1))];
    if (life === undefined) return;
    for (const { message } of worker.lives) {
      if (message.holder === worker) message.keptAliveAt = world.now;
    }
    if (life.steps.next().done === true) {
      worker.lives = worker.lives.filter((other) => other !== life);
    }
  };
  const check = () => {
    const live = [...world.running].filter(({ worker, lease }) =>
      world.now + worker.skew < heldUntil(lease, INTERVAL_MS)
    );
    if (live.length > options.maxActive) {
      world.problems.push(`${live.map(({ jobId }) => jobId).join(" and ")} run at once`);
    }
    const { active = [], queued = [] } = world.entry.state ?? {};
    if (active.length > options.maxActive) world.problems.push(`${active.length} slots`);
    if (queued.some((job, at) => at > 0 && job.place <= (queued[at - 1]?.place ?? 0))) {
      world.problems.push("the line is out of order");
    }
    const ids = [...active, ...queued].map(({ jobId }) => jobId);
    if (new Set(ids).size !== ids.length) world.problems.push("a job stands there twice");
  };
  return {
    world,
    chaos() {
      deliver();
      const what = chance(100);
      const any = workers[chance(workers.length)];
      const producer = chance(Math.max(producers.length, 1));
      if (any === undefined) return;
      if (what < 8 && lastId < options.jobs) producers.push(produce(chance(900) - 450));
      else if (what < 25) producers[producer]?.next();
      else if (options.peaceful === true) {
        stepWorker(any);
        world.now += chance(3);
      } else if (what < 27) producers.splice(producer, 1);
      else if (what < 29) kill(any);
      else if (what < 31) any.sleepsUntil = world.now + chance(15_000);
      else if (what < 32) cancel();
      else if (what < 45) world.now += chance(1_500);
      else if (what < 47) world.now += chance(9_000);
      else stepWorker(any);
      check();
    },
    settle(rounds) {
      world.calm = true;
      for (const producer of options.peaceful === true ? producers : []) {
        while (producer.next().done !== true);
      }
      producers = [];
      for (const worker of workers) worker.sleepsUntil = 0;
      for (let round = 0; round < rounds && world.messages.length > 0; round++) {
        deliver();
        for (const worker of workers) {
          for (let step = worker.lives.length * 3; step > 0; step--) stepWorker(worker);
        }
        world.now += 100;
        check();
      }
    },
    createAlone() {
      const jobsBefore = world.jobs.size;
      const alone = produce(0);
      for (let step = 0; step < 1_000; step++) if (alone.next().done === true) break;
      return world.jobs.size > jobsBefore;
    },
  };
}
