// Curves out of what programs write: lines of a log such as `step 12 loss 0.34`, and tables of numbers.

export interface Curve {
  /** What is measured. */
  name: string;
  /** By which task. */
  task: string;
  x: number[];
  y: number[];
}

const NUMBER = String.raw`[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?`;
const PAIR = new RegExp(String.raw`([A-Za-z][\w./-]*)\s*[=: ]\s*(${NUMBER})(?=$|[\s,;)\]%])`, "g");
const STEPS = new Set(["step", "epoch", "iteration", "iter", "batch", "round", "frame", "sample", "samples"]);
const POINTS_MAX = 4000;

/** The named numbers of a line, and the step that they belong to if it names one. */
export function measures(line: string): { step: number | null; values: [string, number][] } {
  let step: number | null = null;
  const values: [string, number][] = [];
  for (const [, name, text] of line.matchAll(PAIR)) {
    const value = Number(text);
    if (!Number.isFinite(value) || !name) continue;
    if (STEPS.has(name.toLowerCase())) step ??= value;
    else values.push([name, value]);
  }
  return { step, values };
}

/** Curves of a log. A line counts only if it names its step, so that talk about numbers makes no curve. */
export function curvesOf(lines: { task: string; text: string }[]): Curve[] {
  const curves = new Map<string, Curve>();
  for (const { task, text } of lines) {
    const { step, values } = measures(text);
    if (step === null) continue;
    for (const [name, value] of values) {
      const key = `${name} ${task}`;
      const curve = curves.get(key) ?? { name, task, x: [], y: [] };
      curves.set(key, curve);
      // A task that goes on after a move repeats steps; the newest word counts.
      const known = curve.x.at(-1) === step ? curve.x.length - 1 : curve.x.length;
      curve.x[known] = step;
      curve.y[known] = value;
    }
  }
  return [...curves.values()].filter((curve) => curve.x.length > 1).map(sortedCurve);
}

function sortedCurve(curve: Curve): Curve {
  const last = new Map(curve.x.map((x, index) => [x, curve.y[index] as number]));
  const x = [...last.keys()].sort((a, b) => a - b);
  const stride = Math.ceil(x.length / POINTS_MAX);
  const kept = stride > 1 ? x.filter((_, index) => index % stride === 0 || index === x.length - 1) : x;
  return { ...curve, x: kept, y: kept.map((at) => last.get(at) as number) };
}

/** Puts curves of one name on one axis, as a chart wants them. */
export function aligned(curves: Curve[]): { x: number[]; values: (number | null)[][] } {
  const x = [...new Set(curves.flatMap((curve) => curve.x))].sort((a, b) => a - b);
  const values = curves.map((curve) => {
    const at = new Map(curve.x.map((step, index) => [step, curve.y[index] as number]));
    return x.map((step) => at.get(step) ?? null);
  });
  return { x, values };
}

export interface NumberTable {
  head: string[];
  rows: number[][];
}

/** Reads objects of numbers, one a line; what is no number in all of them is left out. */
function readObjects(lines: string[]): NumberTable | null {
  try {
    const objects = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const isNumber = (name: string) => objects.every((object) => typeof object[name] === "number");
    const head = Object.keys(objects[0] ?? {}).filter(isNumber);
    return head.length > 0 ? { head, rows: objects.map((object) => head.map((name) => object[name] as number)) } : null;
  } catch {
    return null;
  }
}

/**
 * Reads rows of numbers, split by commas, tabs or spaces, with or without names above them, or JSON in lines; null if it is
 * none of that.
 */
export function readTable(text: string): NumberTable | null {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() && !line.startsWith("#"));
  const split = (line: string) => line.trim().split(/\s*[,;\t]\s*|\s+/);
  const first = lines[0];
  if (first === undefined || lines.length < 3) return null;
  if (first.startsWith("{")) return readObjects(lines);
  const named = split(first).some((cell) => cell !== "" && Number.isNaN(Number(cell)));
  const rows = (named ? lines.slice(1) : lines).map((line) => split(line).map(Number));
  const width = rows[0]?.length ?? 0;
  if (width === 0 || rows.some((row) => row.length !== width || row.some((cell) => !Number.isFinite(cell)))) return null;
  const head = named ? split(first) : Array.from({ length: width }, (_, index) => (width === 1 ? "value" : `column ${index + 1}`));
  return head.length === width ? { head, rows } : null;
}

/** A table as curves over its first column, or over the number of the row if it has only one. */
export function tableCurves(table: NumberTable, task: string): Curve[] {
  const alone = table.head.length === 1;
  const x = table.rows.map((row, index) => (alone ? index : (row[0] as number)));
  const rising = alone || x.every((value, index) => index === 0 || value > (x[index - 1] as number));
  if (!rising) return [];
  return table.head.slice(alone ? 0 : 1).map((name, column) => ({
    name,
    task,
    x,
    y: table.rows.map((row) => row[alone ? 0 : column + 1] as number),
  }));
}
