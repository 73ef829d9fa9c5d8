/** Figures as a table for people. */

import type { Figure } from "./_figures.ts";

const HEAD = ["", "ours", "raw", "ratio", "range", "unit", ""];

/** Lays figures out in columns. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = [HEAD, ...figures.map(rowOf)];
  const widths = HEAD.map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length))
  );
  const lines = rows.map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()
  );
  return `${lines.join("\n")}\n`;
}

function rowOf({ name, ours, raw, ratio, range, unit, note }: Figure): string[] {
  const shown = (value: number | null) => value === null ? "–" : value.toLocaleString("en");
  return [
    name,
    shown(ours),
    shown(raw),
    ratio === null ? "–" : ratio.toFixed(2),
    range === null ? "–" : `${range[0].toFixed(2)} to ${range[1].toFixed(2)}`,
    unit,
    note ?? "",
  ];
}
