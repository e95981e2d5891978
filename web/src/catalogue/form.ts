// Inputs of a template: what was typed, as what the template wants.
import type { Template, TemplateInput } from "../api/views";
import { parseAmount } from "../format/amount";

export type Values = Record<string, string | boolean>;

/** What the form begins with. What is to be chosen among one's own files begins empty, whatever the template says. */
export function defaults(template: Template): Values {
  const values: Values = {};
  for (const [name, input] of Object.entries(template.inputs.properties))
    values[name] = input.type === "boolean" ? input.default === true : isOwn(input) ? "" : written(input.default);
  return values;
}

function isOwn(input: TemplateInput): boolean {
  return input.type === "file" || input.type === "folder" || input.format === "dataset";
}

/** A default as it stands in a field; of a list, with commas. */
function written(value: unknown): string {
  if (value === undefined || value === null) return "";
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** Inputs in the order in which people see them. */
export function ordered(template: Template): [string, TemplateInput][] {
  const { properties, order } = template.inputs;
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return Object.entries(properties).sort((a, b) => place(a[0]) - place(b[0]));
}

/** What is wrong with a value; null if nothing is. */
export function wrong(input: TemplateInput, value: string | boolean, required: boolean): string | null {
  if (typeof value === "boolean") return null;
  if (value.trim() === "") return required ? "This is needed" : null;
  if (input.format === "amount" && parseAmount(value) === null) return "Write an amount, such as 2.5 GLN";
  if (input.format === "duration" && !/^\d+\s*(ms|s|m|min|h|d)$/.test(value.trim())) return "Write a time, such as 10m";
  if (input.type !== "integer" && input.type !== "number") return null;
  const number = Number(value);
  if (!Number.isFinite(number)) return "Write a number";
  if (input.type === "integer" && !Number.isInteger(number)) return "Write a whole number";
  if (input.minimum != null && number < input.minimum) return `At least ${input.minimum}`;
  if (input.maximum != null && number > input.maximum) return `At most ${input.maximum}`;
  return null;
}

/** Everything that is wrong, by the name of the input. */
export function allWrong(template: Template, values: Values): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, input] of Object.entries(template.inputs.properties)) {
    const text = wrong(input, values[name] ?? "", template.inputs.required.includes(name));
    if (text) found[name] = text;
  }
  return found;
}

/** Values as the hub takes them. What was left empty is left out. */
export function typed(template: Template, values: Values): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [name, input] of Object.entries(template.inputs.properties)) {
    const value = values[name];
    if (value === undefined || value === "") continue;
    found[name] = input.type === "integer" || input.type === "number" ? Number(value) : input.type === "array" ? listed(String(value)) : value;
  }
  return found;
}

/** A list as people write it in one field: with commas, or each in a line of its own. */
function listed(text: string): string[] {
  return text.split(/[,\n]/).map((one) => one.trim()).filter(Boolean);
}
