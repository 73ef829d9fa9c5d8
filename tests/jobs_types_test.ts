import assert from "node:assert/strict";
import { z } from "zod";
import {
  connectService,
  type CreateError,
  defineJobs,
  err,
  type FinishedJob,
  type JobsError,
  type JobView,
  type Middleware,
  type Result,
  type Service,
  type WaitFailure,
} from "../mod.ts";

// The compiler runs these tests: `@ts-expect-error` fails the check when the line below compiles.

const billing = defineJobs("billing", {
  charge: {
    payload: z.object({ orderId: z.string(), cents: z.string().transform(Number) }),
    result: z.object({ chargeId: z.string(), at: z.string().transform((text) => new Date(text)) }),
  },
  remind: { payload: z.object({ orderId: z.string() }) },
});

interface Charge {
  orderId: string;
  cents: string;
}

interface Charged {
  chargeId: string;
  at: Date;
}

type Billing = Service<typeof billing.queues, object>;

/** True only when two types are the same, `any` and `unknown` included. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;

/** Compiles only with `true`. */
function holds<_Claim extends true>(): void {}

/** Takes code that only the compiler looks at. */
function compiles(_code: (service: Billing) => unknown): void {}

Deno.test("create() takes a queue's payload and no other", () => {
  compiles(async ({ jobs }) => {
    await jobs.charge.create({ orderId: "o-1", cents: "1200" });
    await jobs.charge.createMany([{ orderId: "o-1", cents: "1200" }], { atomic: true });
    // @ts-expect-error -- what the schema gives back is not what it takes
    await jobs.charge.create({ orderId: "o-1", cents: 1200 });
    // @ts-expect-error -- a field is missing
    await jobs.charge.create({ orderId: "o-1" });
    // @ts-expect-error -- a field is not known
    await jobs.remind.create({ orderId: "o-1", cents: "1200" });
    // @ts-expect-error -- an option is not known
    await jobs.remind.create({ orderId: "o-1" }, { dedupe: true });
    // @ts-expect-error -- a member of the list does not fit
    await jobs.charge.createMany([{ orderId: "o-1", cents: "1200" }, { orderId: 1 }]);
    // @ts-expect-error -- there is no such queue
    await jobs.refund.create({ orderId: "o-1" });
    const created = await jobs.charge.create({ orderId: "o-1", cents: "1200" });
    // @ts-expect-error -- there may be no value
    created.value;
    if (!created.ok) holds<Same<typeof created.error, CreateError>>();
    // @ts-expect-error -- no such reason
    if (!created.ok) assert.ok(created.error.reason !== "because");
  });
  assert.deepEqual(Object.keys(billing.queues), ["charge", "remind"]);
});

Deno.test("handle() gives the payload's output and takes the result's input", () => {
  compiles(({ jobs }) => {
    jobs.charge.handle(({ job, signal }) => {
      holds<Same<typeof job.payload, { orderId: string; cents: number }>>();
      holds<Same<typeof signal, AbortSignal>>();
      return { chargeId: "c-1", at: "2026-01-01" };
    });
    jobs.charge.handle(() => Promise.resolve({ chargeId: "c-1", at: "2026-01-01" }));
    jobs.charge.handle(() => err("no"));
    jobs.charge.handle(() => err(new Error("no")));
    jobs.remind.handle(() => {});
    // @ts-expect-error -- a field has another type
    jobs.charge.handle(() => ({ chargeId: 1, at: "2026-01-01" }));
    // @ts-expect-error -- a field is missing, in a promise
    jobs.charge.handle(() => Promise.resolve({ chargeId: "c-1" }));
    // @ts-expect-error -- nothing is returned
    jobs.charge.handle(() => {});
    // @ts-expect-error -- an error must be one, or a text
    jobs.charge.handle(() => err(1));
    // @ts-expect-error -- there is no such queue
    jobs.refund.handle(() => {});
    // @ts-expect-error -- nothing adds this
    jobs.remind.handle(({ user }) => void user);
    // @ts-expect-error -- there is no such field in the payload
    jobs.remind.handle(({ job }) => void job.payload.cents);
  });
});

Deno.test("wait() and get() are typed by the queue's schemas", () => {
  compiles(async ({ jobs }) => {
    const ref = jobs.charge.ref("01JZ6N5V4T8Y3K2QX9W7R5M1AB");
    const waited = await ref.wait({ timeoutMs: 1 });
    type Waited = Result<FinishedJob<Charge, Charged>, JobsError<WaitFailure>>;
    holds<Same<typeof waited, Waited>>();
    if (!waited.ok) return;
    const finished = waited.value;
    // @ts-expect-error -- only a completed job has a result
    finished.result;
    if (finished.state === "completed") {
      holds<Same<typeof finished.result, Charged>>();
    } else {
      holds<Same<typeof finished.error, string>>();
    }
    const job = await ref.get().orThrow();
    holds<Same<typeof job, JobView<Charge, Charged>>>();
    holds<Same<typeof job.payload, Charge>>();
    holds<Same<typeof job.result, Charged | undefined>>();
    const cancelled = await ref.cancel().orThrow();
    holds<Same<typeof cancelled, typeof job>>();
    const reminded = await jobs.remind.ref("01JZ6N5V4T8Y3K2QX9W7R5M1AB").wait().orThrow();
    if (reminded.state === "completed") holds<Same<typeof reminded.result, undefined>>();
  });
});

Deno.test("middleware adds to the input of handlers in its own types", () => {
  const withUser: Middleware<{ user: string }> = (_input, next) => next({ user: "ann" });
  const withTenant: Middleware<{ tenant: number }> = (_input, next) => next({ tenant: 7 });
  const plain: Middleware = (_input, next) => next({});
  const added = <Added extends object>(value: Added): Middleware<Added> => (_input, next) =>
    next(value);
  // @ts-expect-error -- it promises a user and adds a number
  const _wrong: Middleware<{ user: string }> = (_input, next) => next({ user: 7 });
  compiles(async () => {
    const middleware = [withUser, plain] as const;
    const { jobs } = await connectService(billing, { middleware }).orThrow();
    jobs.remind.handle(({ user, tenant }) => {
      holds<Same<typeof user, string>>();
      holds<Same<typeof tenant, number>>();
    }, { middleware: [withTenant] });
    jobs.remind.handle(({ user }) => void user.toUpperCase());
    // @ts-expect-error -- this queue's middleware does not add it
    jobs.remind.handle(({ tenant }) => void tenant);
    // @ts-expect-error -- it is a text
    jobs.remind.handle(({ user }) => void user.toFixed());
    const inline = await connectService(billing, {
      middleware: [added({ role: "admin" }), added({ level: 1 })],
    }).orThrow();
    inline.jobs.remind.handle(({ role, level }) => {
      holds<Same<typeof role, string>>();
      holds<Same<typeof level, number>>();
    });
  });
});
