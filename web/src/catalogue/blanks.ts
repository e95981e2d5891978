// Blanks of a job file: `{{name}}` is filled in by whoever runs it. What a template asks for, and which files are its own.
import { parse } from "smol-toml";
import type { TemplateForm, TemplateInput } from "../api/views";

/** What may be filled in, in the order in which it is offered. */
export const TYPES = [
  ["text", "Text"],
  ["integer", "Whole number"],
  ["number", "Number"],
  ["boolean", "Yes or no"],
  ["choice", "One of several texts"],
  ["list", "List of texts"],
  ["amount", "Amount of GLN"],
  ["duration", "Length of time"],
  ["file", "File"],
  ["folder", "Folder"],
  ["dataset", "Dataset"],
] as const;

export type BlankType = (typeof TYPES)[number][0];

/** A blank, with what its writer says of it. */
export interface Blank {
  name: string;
  type: BlankType;
  title: string;
  /** What is taken if nothing is filled in; empty if something must be. */
  preset: string;
  /** Texts to choose from, with commas. */
  choices: string;
}

/** A text of a job file, and where it stands, such as `task[].input[].file`. */
interface Text {
  at: string;
  text: string;
  /** The runtime of the task that it belongs to. */
  runtime: string;
}

const BLANK = /\{\{\s*([a-z0-9_]+)\s*(-\s*\d+\s*)?\}\}/g;
const NAME = /^[a-z0-9][a-z0-9-]{2,39}$/;
/** What is chosen among one's own files has no default: a template cannot know them. */
const OWN: ReadonlySet<BlankType> = new Set(["file", "folder", "dataset"]);

/** What is wrong with the name of a template; null if nothing is. */
export function wrongName(name: string): string | null {
  if (!NAME.test(name)) return "3 to 40 small letters, digits and hyphens, no hyphen first";
  return name === "publish" ? "That is the address of this page: choose another name" : null;
}

/** Names of blanks, each once, in their order. */
export function blanks(job: string): string[] {
  return [...new Set([...job.matchAll(BLANK)].map((match) => match[1] as string))];
}

function* textsOf(value: unknown, at: string, runtime: string): Generator<Text> {
  if (typeof value === "string") yield { at, text: value, runtime };
  else if (Array.isArray(value)) for (const one of value) yield* textsOf(one, `${at}[]`, runtime);
  else if (typeof value === "object" && value !== null) {
    const own = "runtime" in value && typeof value.runtime === "string" ? value.runtime : runtime;
    for (const [key, one] of Object.entries(value)) yield* textsOf(one, at ? `${at}.${key}` : key, own);
  }
}

function texts(job: string): Text[] {
  try {
    return [...textsOf(parse(job), "", "")];
  } catch {
    // It is being written.
    return [];
  }
}

const SOURCES: ReadonlySet<string> = new Set(["task[].program", "task[].input[].file", "task[].input[].folder"]);

/** Paths that a job file reads and nobody fills in: a template's own files, or folders of them. */
export function sources(job: string): string[] {
  const plain = texts(job).filter(({ at, text }) => SOURCES.has(at) && !text.includes("{{"));
  return [...new Set(plain.map(({ text }) => text))];
}

/** Those of some paths that are a template's own files. */
export function ownFiles(job: string, paths: string[]): string[] {
  const read = sources(job);
  return paths.filter((path) => read.some((source) => path === source || path.startsWith(`${source}/`)));
}

/** Paths that a job file reads, and that are not there. */
export function absent(job: string, paths: string[]): string[] {
  return sources(job).filter((source) => ownFiles(job, paths).every((path) => path !== source && !path.startsWith(`${source}/`)));
}

/** What a blank takes, by where it stands. */
export function guess(job: string, name: string): BlankType {
  const found: BlankType[] = [];
  for (const { at, text, runtime } of texts(job))
    for (const match of text.matchAll(BLANK)) if (match[1] === name) found.push(match[2] ? "integer" : standing(at, match[0] === text, runtime));
  return found.find((type) => type !== "text") ?? "text";
}

function standing(at: string, alone: boolean, runtime: string): BlankType {
  if (at === "task[].program") return runtime === "container" ? "folder" : "file";
  if (at === "task[].input[].file") return "file";
  if (at === "task[].input[].folder") return "folder";
  if (at === "task[].input[].dataset") return "dataset";
  if (at.endsWith("price_max")) return "amount";
  if (at.endsWith("time_max")) return "duration";
  if (!alone && at === "task[].each") return "integer";
  if (alone && at.startsWith("task[].sweep.")) return "list";
  return "text";
}

/** A blank as it is before its writer has said anything of it. */
export function fresh(job: string, name: string): Blank {
  const title = (name.charAt(0).toUpperCase() + name.slice(1)).replaceAll("_", " ");
  return { name, type: guess(job, name), title, preset: "", choices: "" };
}

/** Whether a blank may have a default. */
export function mayPreset({ type }: Blank): boolean {
  return !OWN.has(type);
}

/** What is wrong with what was said of a blank; null if nothing is. */
export function wrongBlank(blank: Blank): string | null {
  if (blank.title.trim() === "") return "It needs a label";
  if (blank.type === "choice" && listed(blank.choices).length === 0) return "Write the texts to choose from, with commas";
  if (blank.preset === "") return null;
  if (blank.type === "choice" && !listed(blank.choices).includes(blank.preset)) return "The default must be one of the texts";
  if (blank.type === "integer" && !/^-?\d+$/.test(blank.preset)) return "The default must be a whole number";
  if (blank.type === "number" && !Number.isFinite(Number(blank.preset))) return "The default must be a number";
  return null;
}

/** The form that asks for all of them. */
export function inputsOf(all: Blank[]): TemplateForm {
  return {
    properties: Object.fromEntries(all.map((blank) => [blank.name, input(blank)])),
    required: all.filter((blank) => preset(blank) === undefined).map(({ name }) => name),
    order: all.map(({ name }) => name),
  };
}

const WRITTEN: Record<BlankType, Pick<TemplateInput, "type" | "format">> = {
  text: { type: "string" },
  integer: { type: "integer" },
  number: { type: "number" },
  boolean: { type: "boolean" },
  choice: { type: "string" },
  list: { type: "array" },
  amount: { type: "string", format: "amount" },
  duration: { type: "string", format: "duration" },
  file: { type: "file" },
  folder: { type: "folder" },
  dataset: { type: "string", format: "dataset" },
};

function input(blank: Blank): TemplateInput {
  const value = preset(blank);
  return {
    ...WRITTEN[blank.type],
    title: blank.title.trim(),
    ...(blank.type === "choice" ? { enum: listed(blank.choices) } : {}),
    ...(value === undefined ? {} : { default: value }),
  };
}

function preset(blank: Blank): unknown {
  if (!mayPreset(blank) || blank.preset === "") return undefined;
  switch (blank.type) {
    case "integer":
    case "number":
      return Number(blank.preset);
    case "boolean":
      return blank.preset === "true";
    case "list":
      return listed(blank.preset);
    default:
      return blank.preset;
  }
}

function listed(text: string): string[] {
  return text.split(",").map((one) => one.trim()).filter(Boolean);
}
