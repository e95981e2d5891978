// Attempts in time, a row for each worker and more where one does several at once.
import type { AttemptView } from "../api/views";

export interface Bar {
  attempt: AttemptView;
  lane: number;
  from: number;
  to: number;
}

export interface Row {
  worker: string;
  lanes: number;
  bars: Bar[];
}

export interface Gantt {
  rows: Row[];
  from: number;
  to: number;
}

/** Lays attempts out. What still runs ends now. */
export function gantt(attempts: AttemptView[], now: number): Gantt {
  const workers = new Map<number, Row>();
  const sorted = [...attempts].sort((a, b) => a.started_at - b.started_at);
  for (const attempt of sorted) {
    const row = workers.get(attempt.worker) ?? { worker: attempt.worker_name, lanes: 0, bars: new Array<Bar>() };
    workers.set(attempt.worker, row);
    const from = attempt.started_at;
    const to = Math.max(from, attempt.ended_at ?? now);
    const taken = new Set(row.bars.filter((bar) => bar.to > from).map((bar) => bar.lane));
    let lane = 0;
    while (taken.has(lane)) lane++;
    row.lanes = Math.max(row.lanes, lane + 1);
    row.bars.push({ attempt, lane, from, to });
  }
  const rows = [...workers.values()].sort((a, b) => a.worker.localeCompare(b.worker, "en", { numeric: true }));
  const first = Math.min(...sorted.map((attempt) => attempt.started_at));
  const last = Math.max(...rows.flatMap((row) => row.bars.map((bar) => bar.to)));
  return Number.isFinite(first) ? { rows, from: first, to: Math.max(last, first + 1000) } : { rows, from: now - 1000, to: now };
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400].map((seconds) => seconds * 1000);

/** Round moments between two, at most so many, as spans after the first. */
export function ticks(from: number, to: number, most: number): number[] {
  const step = STEPS.find((step) => (to - from) / step <= most) ?? (STEPS.at(-1) as number);
  const found: number[] = [];
  for (let after = 0; after <= to - from; after += step) found.push(after);
  return found;
}

export type BarTone = "straw" | "leaf" | "poppy" | "ink-3";

const TONES = { running: "straw", done: "leaf", failed: "poppy", cancelled: "ink-3" } as const;

/** The colour of an attempt. */
export function tone(attempt: AttemptView): BarTone {
  return TONES[attempt.state];
}

/** How an attempt ended, in a word. */
export function stateWord(attempt: AttemptView): string {
  if (attempt.state === "failed") return attempt.cause?.replaceAll("_", " ") ?? "failed";
  return { running: "running", done: "delivered", cancelled: "not needed any more" }[attempt.state];
}
