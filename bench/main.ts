/**
 * The benchmarks: the library beside a lean loop written by hand, in one process and one run.
 *
 * `deno task bench [name…] [--json] [--quick]`
 */

import { cpus } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { findNatsServer } from "../testing/mod.ts";
import { cancel } from "./cancel.ts";
import { createHundred, createOne } from "./create.ts";
import { drain } from "./drain.ts";
import type { Benchmark, Figure, Scale } from "./_figures.ts";
import { keyed } from "./keyed.ts";
import { keyedBeside } from "./keyed_beside.ts";
import { keyedHot } from "./keyed_hot.ts";
import { keyedLine } from "./keyed_line.ts";
import { latency } from "./latency.ts";
import { list } from "./list.ts";
import { memory } from "./memory.ts";
import { projector } from "./projector.ts";
import { rebuild } from "./rebuild.ts";
import { tableOf } from "./_table.ts";

const BENCHMARKS: ReadonlyMap<string, Benchmark> = new Map<string, Benchmark>([
  ["create-one", createOne],
  ["create-100", createHundred],
  ["drain-1", drain(1, 3_000, 200)],
  ["drain-10", drain(10, 10_000, 1_000)],
  ["drain-100", drain(100, 20_000, 2_000)],
  ["latency", latency],
  ["cancel", cancel],
  ["memory", memory],
  ["keyed-100", keyed],
  ["keyed-hot", keyedHot],
  ["keyed-line", keyedLine],
  ["keyed-beside", keyedBeside],
  ["projector", projector],
  ["list", list],
  ["rebuild", rebuild],
]);

const HELP = `Usage: deno task bench [name…] [--json] [--quick]

Runs the library beside a lean loop written by hand, on a nats-server of its own. A ratio of 1 is as
good as by hand, more is better. Figures of different runs or machines do not compare.

Names (all when left out): ${[...BENCHMARKS.keys()].join(", ")}

  --json    one JSON object per line: name, ours, raw, ratio, range, unit
  --quick   just enough to see that everything still runs; the figures mean nothing
  --help    this text`;

interface Arguments {
  readonly names: readonly string[];
  readonly json: boolean;
  readonly quick: boolean;
  readonly help: boolean;
}

function readArguments(): Arguments {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const unknown = positionals.filter((name) => !BENCHMARKS.has(name));
  if (unknown.length > 0) {
    const known = [...BENCHMARKS.keys()].join(", ");
    throw new RangeError(`Cannot run ${unknown.join(", ")}: known are ${known}`);
  }
  const names = positionals.length === 0 ? [...BENCHMARKS.keys()] : positionals;
  return { ...values, names };
}

async function main({ names, json, quick }: Arguments): Promise<void> {
  const progress = (line: string) => void process.stderr.write(`${line}\n`);
  const scale: Scale = { quick, repeats: quick ? 1 : 7, progress };
  const { version } = await findNatsServer();
  const deno = process.versions["deno"] ?? `node ${process.versions.node}`;
  progress(`deno ${deno}, nats-server ${version}, ${cpus().length} cores`);
  const figures: Figure[] = [];
  for (const name of names) {
    const figure = await BENCHMARKS.get(name)?.(scale);
    if (figure === undefined) continue;
    figures.push(figure);
    if (json) process.stdout.write(`${JSON.stringify(figure)}\n`);
  }
  if (!json) process.stdout.write(tableOf(figures));
}

try {
  const wanted = readArguments();
  if (wanted.help) process.stdout.write(`${HELP}\n`);
  else await main(wanted);
} catch (error) {
  const said = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${said}\n`);
  process.exitCode = 1;
}
