// Curves and bars by uPlot, in the page's colours. Loaded only by pages that draw something.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { colours, useColours } from "../app/theme";
import "./chart.css";

export interface Line {
  label: string;
  colour: "straw" | "leaf" | "poppy" | "corn" | "dusk" | "ink-3";
  /** A value with its unit. */
  format: (value: number) => string;
  as?: "line" | "area" | "bars" | "steps";
}

export interface ChartProps {
  /** Where values stand: seconds since 1970, or plain numbers. */
  x: number[];
  lines: Line[];
  values: (number | null)[][];
  time?: boolean;
  height?: number;
  /** What the chart shows, in words. */
  label: string;
  /** The name of the x axis where it is not time. */
  xLabel?: string;
  log?: boolean;
  /** The top of the scale, where there is one. */
  most?: number;
}

type Palette = ReturnType<typeof palette>;

function palette() {
  return colours(["straw", "leaf", "poppy", "corn", "dusk", "ink", "ink-2", "ink-3", "furrow"] as const);
}

function series(line: Line, paint: Palette): uPlot.Series {
  const colour = paint[line.colour];
  const paths =
    line.as === "bars"
      ? uPlot.paths.bars?.({ size: [0.72, 40], radius: 0.15 })
      : line.as === "steps"
        ? uPlot.paths.stepped?.({ align: 1 })
        : undefined;
  return {
    label: line.label,
    stroke: colour,
    width: line.as === "bars" ? 0 : 2,
    fill: line.as === "bars" ? colour : line.as === "area" ? fade(colour) : undefined,
    paths,
    points: { show: false },
    spanGaps: false,
    value: (_, value) => (value == null ? "–" : line.format(value)),
  };
}

function fade(colour: string): string {
  return colour.replace(/^rgb\((.*)\)$/, "rgba($1, 0.16)");
}

function options(props: ChartProps, width: number, paint: Palette): uPlot.Options {
  const axis = { stroke: paint["ink-2"], font: "12px 'Hanken Grotesk Variable', sans-serif", ticks: { show: false } };
  const first = props.lines[0];
  return {
    width,
    height: props.height ?? 220,
    cursor: { points: { size: 7 }, drag: { x: false, y: false } },
    legend: { live: true },
    hooks: { ready: [showNewest], setCursor: [showNewest], setData: [showNewest] },
    scales: { x: { time: props.time ?? false, range: props.lines[0]?.as === "bars" ? around : undefined }, y: { distr: props.log ? 3 : 1, range: props.log ? undefined : range(props.most) } },
    axes: [
      { ...axis, grid: { show: false }, size: props.time ? 44 : 32, space: 64, ...(props.time ? { values: timeMarks, incrs: STEPS } : {}) },
      {
        ...axis,
        grid: { stroke: paint.furrow, width: 1 },
        size: (_, values) => 16 + Math.max(24, ...(values ?? []).map((value) => value.length * 6.8)),
        values: (_, ticks) => ticks.map((tick) => (tick == null ? "" : (first?.format(tick) ?? String(tick)))),
      },
    ],
    series: [
      { label: props.time ? "at" : (props.xLabel ?? "x"), value: props.time ? "{YYYY}-{MM}-{DD} {HH}:{mm}" : (_, value) => (value == null ? "–" : String(value)) },
      ...props.lines.map((line) => series(line, paint)),
    ],
  };
}

/** Zero is always on the scale of amounts, so that small changes do not look large. */
function range(top: number | undefined): uPlot.Range.Function {
  return (_, least, most) => [Math.min(0, least ?? 0), top ?? (most && most > 0 ? most * 1.08 : 1)];
}

/** Room for half a bar on both sides. */
function around(chart: uPlot, least: number, most: number): [number, number] {
  const x = chart.data[0];
  const gaps = Array.from(x.slice(1), (value, index) => value - (x[index] as number));
  const half = gaps.length > 0 ? Math.min(...gaps) / 2 : 1800;
  return [least - half, most + half];
}

const DAY_SECONDS = 86_400;
/** What lies between two marks of the time axis: whole minutes, since marks say no seconds. */
const STEPS = [...[1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720].map((minutes) => minutes * 60), ...[1, 2, 3, 5, 7, 10, 15, 30, 60, 90, 180, 365].map((days) => days * DAY_SECONDS)];

/** Marks of the time axis: the time of day, and the date where a new day begins. */
function timeMarks(_: uPlot, marks: number[], __: number, ___: number, step: number): string[] {
  let last = "";
  return marks.map((mark) => {
    const date = new Date(mark * 1000);
    const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
    const hour = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    const said = day === last ? "" : day;
    last = day;
    return step >= DAY_SECONDS ? day : said ? `${hour}\n${said}` : hour;
  });
}

/** While nobody points at it, the legend says the newest values. */
function showNewest(chart: uPlot): void {
  if (chart.cursor.idx == null && chart.data[0].length > 0) chart.setLegend({ idx: chart.data[0].length - 1 }, false);
}

export default function Chart(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const painted = useColours();
  const shape = `${props.lines.map((line) => `${line.label}${line.colour}${line.as}`).join()} ${props.height} ${props.log}`;
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const made = new uPlot(options(props, element.clientWidth, palette()), [props.x, ...props.values], element);
    chart.current = made;
    const sizes = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: props.height ?? 220 }));
    sizes.observe(element);
    return () => {
      sizes.disconnect();
      made.destroy();
      chart.current = null;
    };
    // New values only move the lines; another shape or theme is another chart.
  }, [shape, painted]);
  useEffect(() => chart.current?.setData([props.x, ...props.values]), [props.x, props.values]);
  return <div ref={place} className="chart" role="img" aria-label={props.label} />;
}
