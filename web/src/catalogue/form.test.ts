import { describe, expect, it } from "vitest";
import type { Template } from "../api/views";
import { allWrong, defaults, ordered, typed } from "./form";

const template = {
  inputs: {
    properties: {
      scene: { type: "file", title: "Scene" },
      samples: { type: "integer", title: "Samples", default: 64, minimum: 1, maximum: 4096 },
      rate: { type: "number", title: "Rate" },
      denoise: { type: "boolean", title: "Denoise", default: true },
      rates: { type: "array", title: "Rates", default: ["0.1", "0.3"] },
      price: { type: "string", format: "amount", title: "Price", default: "1 GLN" },
    },
    required: ["scene", "samples"],
    order: ["price", "scene", "samples"],
  },
} as unknown as Template;

describe("a template's form", () => {
  it("begins with what the template says", () => {
    expect(defaults(template)).toEqual({ scene: "", samples: "64", rate: "", denoise: true, rates: "0.1, 0.3", price: "1 GLN" });
    expect(ordered(template).map(([name]) => name)).toEqual(["price", "scene", "samples", "rate", "denoise", "rates"]);
  });

  it("begins without files: whoever runs it chooses among their own", () => {
    const inputs = { properties: { data: { type: "file", default: "theirs/secret.csv" }, set: { type: "string", format: "dataset", default: "photos" } }, required: [], order: [] };
    expect(defaults({ inputs } as unknown as Template)).toEqual({ data: "", set: "" });
  });

  it("says what is missing and what does not fit", () => {
    expect(allWrong(template, { scene: "", samples: "1.5", rate: "x", denoise: true, price: "much" })).toEqual({
      scene: "This is needed",
      samples: "Write a whole number",
      rate: "Write a number",
      price: "Write an amount, such as 2.5 GLN",
    });
    expect(allWrong(template, { scene: "a.blend", samples: "5000", rate: "", denoise: false })).toEqual({ samples: "At most 4096" });
  });

  it("sends numbers as numbers, and leaves out what is empty", () => {
    expect(typed(template, { scene: "a.blend", samples: "8", rate: "", denoise: false, rates: "1,\n2" })).toEqual({ scene: "a.blend", samples: 8, denoise: false, rates: ["1", "2"] });
  });
});
