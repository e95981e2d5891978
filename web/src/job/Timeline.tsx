// Attempts by worker over time, on a canvas: thousands of bars stay smooth. The same as a table below it.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import * as queries from "../api/queries";
import type { AttemptView, JobView } from "../api/views";
import { colours, useColours } from "../app/theme";
import { clock, span } from "../format/time";
import { hasEnded } from "../live/merge";
import { type Column, DataTable } from "../ui/DataTable";
import { useNow } from "../ui/now";
import { Answer, Bed, Empty } from "../ui/parts";
import { Lasting, Pill, type Tone } from "../ui/words";
import { type Bar, type Gantt, gantt, stateWord, ticks, tone } from "./gantt";

const LANE = 16;
const GAP = 10;
const HEAD = 28;

export default function Timeline({ job }: { job: JobView }) {
  const attempts = useQuery(queries.attempts(job.id));
  return (
    <div className="stack">
      <Bed title="Who did what, and when" lead="One row for each worker. Point at a bar to see why it ran there.">
        <Answer query={attempts} what="attempts" lines={6}>
          {({ items }) => (items.length === 0 ? <NothingYet job={job} /> : <Chart items={items} />)}
        </Answer>
        <p className="legend small">
          <Pill tone="leaf">delivered</Pill> <Pill tone="straw">running</Pill> <Pill tone="poppy">failed or lost</Pill> <Pill>not needed any more</Pill>
        </p>
      </Bed>
      {attempts.data && attempts.data.items.length > 0 ? (
        <Bed flush title="The same as a table">
          <DataTable rows={attempts.data.items} columns={COLUMNS} id={(attempt) => String(attempt.attempt)} label="Attempts" first={50} sorting={[{ id: "started", desc: true }]} />
        </Bed>
      ) : null}
    </div>
  );
}

function NothingYet({ job }: { job: JobView }) {
  return (
    <Empty title="No attempt yet">
      {hasEnded(job) ? "Nothing of this job had to run." : "The first bar appears when a worker takes a task. The overview says what it waits for."}
    </Empty>
  );
}

const BADGE: Record<string, Tone> = { straw: "straw", leaf: "leaf", poppy: "poppy" };

const COLUMNS: Column<AttemptView>[] = [
  { id: "task", head: "Task", lead: true, by: (attempt) => attempt.task, cell: (attempt) => <span className="mono">{attempt.task}</span> },
  { id: "worker", head: "Worker", by: (attempt) => attempt.worker_name, cell: (attempt) => attempt.worker_name },
  { id: "state", head: "State", by: (attempt) => attempt.state, cell: (attempt) => <Pill tone={BADGE[tone(attempt)] ?? "plain"}>{stateWord(attempt)}</Pill> },
  { id: "started", head: "Started", by: (attempt) => attempt.started_at, cell: (attempt) => clock(attempt.started_at) },
  { id: "took", head: "Took", number: true, by: (attempt) => (attempt.ended_at ?? Number.MAX_SAFE_INTEGER) - attempt.started_at, cell: (attempt) => <Lasting from={attempt.started_at} to={attempt.ended_at} /> },
  { id: "why", head: "Why there", cell: (attempt) => <span className="small soft">{attempt.why}</span> },
];

function Chart({ items }: { items: AttemptView[] }) {
  const now = useNow();
  const runs = items.some((attempt) => attempt.ended_at === null);
  const chart = useMemo(() => gantt(items, now), [items, runs ? now : 0]);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<{ bar: Bar; x: number; y: number } | null>(null);
  const painted = useColours();
  const height = HEAD + chart.rows.reduce((sum, row) => sum + row.lanes * LANE + GAP, 0);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const paint = () => draw(element, chart, at?.bar ?? null);
    const sizes = new ResizeObserver(paint);
    sizes.observe(element);
    return () => sizes.disconnect();
  }, [chart, at?.bar, painted]);
  const point = (event: React.PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const bar = hit(chart, box.width, x, y);
    setAt(bar ? { bar, x: Math.min(x, box.width - 260), y } : null);
  };
  return (
    <div className="gantt">
      <canvas
        ref={canvas}
        style={{ height: `${height}px` }}
        role="img"
        aria-label={`${items.length} attempts on ${chart.rows.length} workers over ${span(chart.to - chart.from)}. The table below has all of them.`}
        onPointerMove={point}
        onPointerLeave={() => setAt(null)}
      />
      {at ? (
        <div className="gantt-tip" style={{ left: `${at.x}px`, top: `${at.y + 14}px` }}>
          <strong className="mono">{at.bar.attempt.task}</strong> on {at.bar.attempt.worker_name}
          <div>
            {stateWord(at.bar.attempt)}, {span(at.bar.to - at.bar.from)}
          </div>
          <div className="soft small">{at.bar.attempt.why}</div>
        </div>
      ) : null}
    </div>
  );
}

function nameWidth(width: number): number {
  return Math.min(150, width * 0.25);
}

function* places(chart: Gantt, width: number): Generator<{ bar: Bar; x: number; y: number; wide: number }> {
  const left = nameWidth(width);
  const scale = (width - left - 4) / (chart.to - chart.from);
  let top = HEAD;
  for (const row of chart.rows) {
    for (const bar of row.bars)
      yield { bar, x: left + (bar.from - chart.from) * scale, y: top + bar.lane * LANE, wide: Math.max(2, (bar.to - bar.from) * scale - 1) };
    top += row.lanes * LANE + GAP;
  }
}

function hit(chart: Gantt, width: number, x: number, y: number): Bar | null {
  for (const place of places(chart, width))
    if (x >= place.x - 1 && x <= place.x + place.wide + 1 && y >= place.y && y < place.y + LANE) return place.bar;
  return null;
}

function draw(canvas: HTMLCanvasElement, chart: Gantt, chosen: Bar | null): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const ratio = window.devicePixelRatio;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const paint = colours(["straw", "leaf", "poppy", "ink-3", "ink-2", "ink", "furrow"] as const);
  drawTime(context, chart, width, height, paint);
  let top = HEAD;
  context.textBaseline = "middle";
  for (const row of chart.rows) {
    const tall = row.lanes * LANE;
    context.fillStyle = paint.ink;
    context.fillText(row.worker, 0, top + tall / 2, nameWidth(width) - 10);
    context.fillStyle = paint.furrow;
    context.fillRect(0, top + tall + GAP / 2 - 0.5, width, 1);
    top += tall + GAP;
  }
  for (const { bar, x, y, wide } of places(chart, width)) {
    context.fillStyle = paint[tone(bar.attempt)];
    context.globalAlpha = chosen && chosen.attempt.attempt !== bar.attempt.attempt ? 0.55 : 1;
    context.beginPath();
    context.roundRect(x, y + 2, wide, LANE - 4, 3);
    context.fill();
  }
  context.globalAlpha = 1;
}

function drawTime(context: CanvasRenderingContext2D, chart: Gantt, width: number, height: number, paint: Record<"ink-2" | "furrow", string>): void {
  const left = nameWidth(width);
  const scale = (width - left - 4) / (chart.to - chart.from);
  context.font = "12px 'Hanken Grotesk Variable', sans-serif";
  context.textBaseline = "top";
  for (const after of ticks(chart.from, chart.to, Math.max(2, Math.floor((width - left) / 90)))) {
    const x = left + after * scale;
    context.fillStyle = paint.furrow;
    context.fillRect(x, 20, 1, height - 20);
    context.fillStyle = paint["ink-2"];
    const words = after === 0 ? clock(chart.from) : `+${span(after)}`;
    if (x + context.measureText(words).width < width) context.fillText(words, x, 2);
  }
}
