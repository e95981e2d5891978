// Blanks of a job file: `{{name}}` is filled in by whoever runs it.
import type { TemplateForm } from "../api/views";

/** Names of blanks, each once, in their order. */
export function blanks(job: string): string[] {
  return [...new Set([...job.matchAll(/\{\{\s*([a-z0-9_]+)\s*\}\}/g)].map((match) => match[1] as string))];
}

/** A form that asks for each of them as text. */
export function inputsOf(names: string[]): TemplateForm {
  const title = (name: string) => (name.charAt(0).toUpperCase() + name.slice(1)).replaceAll(/[_-]/g, " ");
  return { properties: Object.fromEntries(names.map((name) => [name, { type: "string" as const, title: title(name) }])), required: names, order: names };
}
