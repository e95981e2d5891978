// The field: each stalk is a slot of a machine on this network, and those with an ear are at work.
import { useEffect, useRef } from "react";
import { colours, useColours } from "../app/theme";

const STALKS_MAX = 320;
const FRAME_MS = 1000 / 30;

interface Stalk {
  x: number;
  y: number;
  size: number;
  phase: number;
  rank: number;
}

/** Numbers that look like chance and are the same each time. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Where stalks stand: rows that come nearer, each a little off its line. Places are shares of the field. */
export function plant(count: number): Stalk[] {
  const chance = seeded(7);
  const rows = Math.max(1, Math.min(7, Math.round(Math.sqrt(count / 6))));
  const stalks: Stalk[] = [];
  for (let row = 0; row < rows; row++) {
    const near = rows === 1 ? 0.7 : row / (rows - 1);
    const here = Math.floor(count / rows) + (row < count % rows ? 1 : 0);
    for (let index = 0; index < here; index++) {
      const even = (index + 0.5 + (row % 2 ? 0.25 : -0.25)) / here;
      stalks.push({
        x: 0.02 + 0.96 * (even + (chance() - 0.5) * (0.6 / here)),
        y: 0.3 + 0.66 * near ** 1.4,
        size: 0.45 + 0.55 * near,
        phase: chance() * Math.PI * 2,
        rank: 0,
      });
    }
  }
  // Who is at work is spread over the field, and stays where it is while numbers change.
  const order = stalks.map((_, index) => index).sort((a, b) => hash(a) - hash(b));
  order.forEach((index, rank) => {
    (stalks[index] as Stalk).rank = rank;
  });
  return stalks;
}

function hash(value: number): number {
  return (Math.imul(value + 1, 2_654_435_761) >>> 0) % 65_536;
}

const PAINTS = ["ear", "idle", "stubble"] as const;

type Palette = Record<(typeof PAINTS)[number], string>;

function draw(canvas: HTMLCanvasElement, stalks: Stalk[], working: number, palette: Palette, time: number): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const ratio = Math.min(2, window.devicePixelRatio);
  const { clientWidth: width, clientHeight: height } = canvas;
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  drawStubble(context, width, height, palette);
  for (const stalk of stalks) drawStalk(context, stalk, stalk.rank < working, width, height, palette, time);
}

function drawStubble(context: CanvasRenderingContext2D, width: number, height: number, palette: Palette): void {
  const chance = seeded(3);
  context.strokeStyle = palette.stubble;
  context.globalAlpha = 0.5;
  for (let row = 0; row < 11; row++) {
    const near = (row / 10) ** 1.7;
    const y = height * (0.14 + 0.86 * near);
    const gap = 7 + near * 26;
    context.lineWidth = 0.8 + near * 1.2;
    context.beginPath();
    for (let x = (row % 2) * gap * 0.5; x < width + gap; x += gap) {
      const at = x + (chance() - 0.5) * gap * 0.7;
      context.moveTo(at, y);
      context.lineTo(at + (chance() - 0.5) * 3, y - (3 + near * 10) * (0.6 + chance() * 0.6));
    }
    context.stroke();
  }
  context.globalAlpha = 1;
}

function drawStalk(
  context: CanvasRenderingContext2D,
  stalk: Stalk,
  works: boolean,
  width: number,
  height: number,
  palette: Palette,
  time: number,
): void {
  const x = stalk.x * width;
  const y = stalk.y * height;
  const tall = (works ? 58 : 26) * stalk.size;
  const sway = works ? Math.sin(time / 900 + stalk.phase + stalk.x * 5) * 5 * stalk.size : 0;
  const tip = { x: x + sway + 3 * stalk.size, y: y - tall };
  context.strokeStyle = works ? palette.ear : palette.idle;
  context.lineWidth = Math.max(1, 2 * stalk.size);
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(x, y);
  context.quadraticCurveTo(x, y - tall * 0.6, tip.x, tip.y);
  context.stroke();
  if (!works) return;
  context.fillStyle = palette.ear;
  const grain = 4.6 * stalk.size;
  for (let pair = 0; pair < 4; pair++) {
    const up = tip.y + pair * grain * 1.25;
    const lean = tip.x - (sway * pair) / 14;
    if (pair === 0) diamond(context, lean, up - grain, grain);
    diamond(context, lean - grain * 0.85, up, grain);
    diamond(context, lean + grain * 0.85, up, grain);
  }
}

function diamond(context: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  const half = size * 0.72;
  context.beginPath();
  context.moveTo(x, y - half);
  context.lineTo(x + half * 0.75, y);
  context.lineTo(x, y + half);
  context.lineTo(x - half * 0.75, y);
  context.fill();
}

export function Field({ slots, busy }: { slots: number; busy: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const painted = useColours();
  const shown = Math.min(slots, STALKS_MAX);
  const working = slots > 0 ? Math.round((busy / slots) * shown) : 0;
  const lit = busy > 0 ? Math.max(1, working) : 0;
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const palette = colours(PAINTS);
    const stalks = plant(shown);
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches || lit === 0;
    return animate(element, (time) => draw(element, stalks, lit, palette, time), still);
  }, [shown, lit, painted]);
  return <canvas ref={canvas} className="field-canvas" aria-hidden="true" />;
}

/** Draws again and again while the canvas can be seen; only on changes of size where nothing should move. */
function animate(element: HTMLElement, paint: (time: number) => void, still: boolean): () => void {
  let frame = 0;
  let last = 0;
  let seen = true;
  const step = (time: number) => {
    if (time - last >= FRAME_MS) {
      last = time;
      paint(time);
    }
    if (!still && seen) frame = requestAnimationFrame(step);
  };
  const sizes = new ResizeObserver(() => paint(still ? 0 : performance.now()));
  const views = new IntersectionObserver(([entry]) => {
    const was = seen;
    seen = entry?.isIntersecting ?? true;
    if (seen && !was && !still) frame = requestAnimationFrame(step);
  });
  sizes.observe(element);
  views.observe(element);
  frame = requestAnimationFrame(step);
  return () => {
    cancelAnimationFrame(frame);
    sizes.disconnect();
    views.disconnect();
  };
}
