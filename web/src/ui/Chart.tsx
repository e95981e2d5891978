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
    scales: { x: { time: props.time ?? false }, y: { distr: props.log ? 3 : 1, range: props.log ? undefined : range } },
    axes: [
      { ...axis, grid: { show: false }, size: 32 },
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
function range(_: uPlot, least: number | null, most: number | null): [number, number] {
  const top = most ?? 1;
  return [Math.min(0, least ?? 0), top <= 0 ? 1 : top * 1.08];
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
