// Inputs of a template: what was typed, as what the template wants.
import type { Template, TemplateInput } from "../api/pending";

export type Values = Record<string, string | boolean>;

/** What the form begins with. */
export function defaults(template: Template): Values {
  const values: Values = {};
  for (const [name, input] of Object.entries(template.inputs.properties))
    values[name] = input.type === "boolean" ? input.default === true : input.default === undefined ? "" : String(input.default);
  return values;
}

/** What is wrong with a value; null if nothing is. */
export function wrong(input: TemplateInput, value: string | boolean, required: boolean): string | null {
  if (typeof value === "boolean") return null;
  if (value.trim() === "") return required ? "This is needed" : null;
  if (input.type !== "integer" && input.type !== "number") return null;
  const number = Number(value);
  if (!Number.isFinite(number)) return "Write a number";
  if (input.type === "integer" && !Number.isInteger(number)) return "Write a whole number";
  if (input.minimum !== undefined && number < input.minimum) return `At least ${input.minimum}`;
  if (input.maximum !== undefined && number > input.maximum) return `At most ${input.maximum}`;
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
    found[name] = input.type === "integer" || input.type === "number" ? Number(value) : value;
  }
  return found;
}
