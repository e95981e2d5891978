import { describe, expect, it } from "vitest";
import type { Template } from "../api/pending";
import { allWrong, defaults, typed } from "./form";

const template = {
  inputs: {
    properties: {
      scene: { type: "file", title: "Scene" },
      samples: { type: "integer", title: "Samples", default: 64, minimum: 1, maximum: 4096 },
      rate: { type: "number", title: "Rate" },
      denoise: { type: "boolean", title: "Denoise", default: true },
    },
    required: ["scene", "samples"],
  },
} as unknown as Template;

describe("a template's form", () => {
  it("begins with what the template says", () => {
    expect(defaults(template)).toEqual({ scene: "", samples: "64", rate: "", denoise: true });
  });

  it("says what is missing and what does not fit", () => {
    expect(allWrong(template, { scene: "", samples: "1.5", rate: "x", denoise: true })).toEqual({ scene: "This is needed", samples: "Write a whole number", rate: "Write a number" });
    expect(allWrong(template, { scene: "a.blend", samples: "5000", rate: "", denoise: false })).toEqual({ samples: "At most 4096" });
  });

  it("sends numbers as numbers, and leaves out what is empty", () => {
    expect(typed(template, { scene: "a.blend", samples: "8", rate: "", denoise: false })).toEqual({ scene: "a.blend", samples: 8, denoise: false });
  });
});

describe("blanks", () => {
  it("are found once each", async () => {
    const { blanks, inputsOf } = await import("./blanks");
    expect(blanks('a = "{{one}}{{ two_x }}{{one}}" # {not} {{3}}')).toEqual(["one", "two_x"]);
    expect(inputsOf(["two_x"]).properties.two_x?.title).toBe("Two x");
  });
});
