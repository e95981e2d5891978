// What a job file says, as far as the page has to know before the hub has read it.
import { parse, TomlError } from "smol-toml";

export interface JobFile {
  name: string;
  cap: string | null;
  timeMax: string | null;
  prefer: string | null;
  tasks: { name: string; runtime: string }[];
  /** Every text in it; some of them are paths. */
  texts: string[];
}

export type ReadJobFile = { ok: true; file: JobFile } | { ok: false; line: number | null; reason: string };

type Table = Record<string, unknown>;

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const one of value) yield* textsIn(one);
  else if (isTable(value)) for (const one of Object.values(value)) yield* textsIn(one);
}

/** Reads a job file. What it means is the hub's to say; here only its shape counts. */
export function readJobFile(source: string): ReadJobFile {
  let root: Table;
  try {
    root = parse(source);
  } catch (error) {
    if (error instanceof TomlError) return { ok: false, line: error.line, reason: (error.message.split("\n")[0] ?? "").replace(/^Invalid TOML document: /, "") };
    throw error;
  }
  const tasks = Array.isArray(root.task) ? root.task.filter(isTable) : [];
  if (tasks.length === 0) return { ok: false, line: null, reason: "there is no [[task]] in it, so nothing would run" };
  const budget = isTable(root.budget) ? root.budget : {};
  return {
    ok: true,
    file: {
      name: text(root.name) ?? "unnamed",
      cap: text(budget.price_max),
      timeMax: text(budget.time_max),
      prefer: text(root.prefer),
      tasks: tasks.map((task) => ({ name: text(task.name) ?? "unnamed", runtime: text(task.runtime) ?? "unknown" })),
      texts: [...textsIn(root)],
    },
  };
}

/** A path without `./` and doubled slashes. */
export function plainPath(path: string): string {
  return path.split("/").filter((part) => part !== "" && part !== ".").join("/");
}

/** The paths of a folder that a job file names: files, and everything in folders. */
export function named(file: JobFile, paths: string[]): string[] {
  const texts = new Set(file.texts.map(plainPath).filter((one) => one !== ""));
  const within = (path: string) => path.split("/").some((_, index, parts) => index > 0 && texts.has(parts.slice(0, index).join("/")));
  return paths.filter((path) => texts.has(path) || within(path));
}

/** Names of files in it that are not in the folder; only what looks like a file counts. */
export function missing(file: JobFile, paths: string[]): string[] {
  const here = new Set(paths);
  const looks = (one: string) => /^[\w./-]+\.(wasm|wgsl|blend|py|toml|csv|txt|json|png|exr|bin|onnx|safetensors|gguf)$/.test(one) && !one.startsWith("/");
  return [...new Set(file.texts.filter(looks).map(plainPath))].filter((one) => !here.has(one));
}

/** The job file of a folder: `job.toml`, or the only file with a task in it. */
export function findJobFile(paths: string[]): string | null {
  const files = paths.filter((path) => path.endsWith(".toml") && !path.includes("/"));
  if (files.includes("job.toml")) return "job.toml";
  return files.length === 1 ? (files[0] as string) : null;
}
