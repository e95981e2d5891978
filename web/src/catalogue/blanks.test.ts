import { describe, expect, it } from "vitest";
import { readJobFile } from "../newjob/jobfile";
import { absent, type Blank, blanks, fresh, guess, inputsOf, mayPreset, ownFiles, sources, wrongBlank, wrongName } from "./blanks";

const JOB = `
name = "count in {{label}}"
[budget]
price_max = "{{price}}"
time_max = "{{time}}"
[[task]]
name = "count"
runtime = "wasm"
program = "count.wasm"
each = "0..{{parts - 1}}"
sweep = { rate = "{{rates}}" }
args = ["{{label}}", "notes.txt"]
[[task.input]]
name = "text"
file = "{{text}}"
[[task.input]]
name = "words"
folder = "words"
[[task]]
name = "train"
runtime = "container"
program = "{{image}}"
`;

const blank = (more: Partial<Blank>): Blank => ({ name: "one", type: "text", title: "One", preset: "", choices: "", ...more });

describe("blanks", () => {
  it("are found once each, also where a number is taken from them", () => {
    expect(readJobFile(JOB).ok).toBe(true);
    expect(blanks(JOB)).toEqual(["label", "price", "time", "parts", "rates", "text", "image"]);
    expect(blanks('a = "{{one}}{{ two_x }}{{one}}" # {not} {{Three}}')).toEqual(["one", "two_x"]);
  });

  it("take what fits the place where they stand", () => {
    expect(Object.fromEntries(blanks(JOB).map((name) => [name, guess(JOB, name)]))).toEqual({
      label: "text",
      price: "amount",
      time: "duration",
      parts: "integer",
      rates: "list",
      text: "file",
      image: "folder",
    });
    expect(guess("no = = toml {{one}}", "one")).toBe("text");
  });

  it("become a form, with what its writer has said of them", () => {
    const form = inputsOf([
      blank({ name: "text", type: "file", title: " Text ", preset: "never kept" }),
      blank({ name: "parts", type: "integer", preset: "4" }),
      blank({ name: "way", type: "choice", choices: "slow, fast", preset: "fast" }),
      blank({ name: "price", type: "amount", preset: "1 GLN" }),
      blank({ name: "loud", type: "boolean", preset: "false" }),
    ]);
    expect(form.properties).toEqual({
      text: { type: "file", title: "Text" },
      parts: { type: "integer", title: "One", default: 4 },
      way: { type: "string", title: "One", enum: ["slow", "fast"], default: "fast" },
      price: { type: "string", format: "amount", title: "One", default: "1 GLN" },
      loud: { type: "boolean", title: "One", default: false },
    });
    expect([form.required, form.order]).toEqual([["text"], ["text", "parts", "way", "price", "loud"]]);
    expect(fresh(JOB, "text")).toMatchObject({ type: "file", title: "Text" });
    expect([mayPreset(blank({ type: "folder" })), mayPreset(blank({}))]).toEqual([false, true]);
  });

  it("say what is wrong with what was said of them", () => {
    expect(wrongBlank(blank({}))).toBeNull();
    expect(wrongBlank(blank({ title: " " }))).toContain("label");
    expect(wrongBlank(blank({ type: "choice" }))).toContain("choose from");
    expect(wrongBlank(blank({ type: "choice", choices: "a, b", preset: "c" }))).toContain("one of");
    expect(wrongBlank(blank({ type: "integer", preset: "1.5" }))).toContain("whole number");
    expect(wrongBlank(blank({ type: "number", preset: "x" }))).toContain("number");
  });
});

describe("a template", () => {
  it("has a name that the desk takes", () => {
    for (const name of ["abc", "count-words", "9lives", "a".repeat(40)]) expect(wrongName(name)).toBeNull();
    for (const name of ["ab", "-abc", "Abc", "a_b_c", "a".repeat(41), "publish"]) expect(wrongName(name)).not.toBeNull();
  });

  it("publishes files that its job reads, and no others", () => {
    const paths = ["job.toml", "count.wasm", "words/a.txt", "words/deep/b.txt", "notes.txt", "wordsmith.txt"];
    expect(sources(JOB)).toEqual(["count.wasm", "words"]);
    expect(ownFiles(JOB, paths)).toEqual(["count.wasm", "words/a.txt", "words/deep/b.txt"]);
    expect(absent(JOB, paths)).toEqual([]);
    expect(absent(JOB, ["words/a.txt"])).toEqual(["count.wasm"]);
  });
});
