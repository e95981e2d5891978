import { describe, expect, it } from "vitest";
import type { DatasetView } from "../api/views";
import { heldShare, keptFor, listed } from "./datasets";

const dataset = (more: Partial<DatasetView>) => ({ kind: "pushed", made_ms: 1, chunks: 4, held: 4, ...more }) as DatasetView;

describe("datasets", () => {
  it("are what was pushed, unless everything is wanted, newest first", () => {
    const all = [dataset({ made_ms: 1 }), dataset({ made_ms: 3, kind: "input" }), dataset({ made_ms: 2 })];
    expect(listed(all, "pushed").map(({ made_ms }) => made_ms)).toEqual([2, 1]);
    expect(listed(all, "all").map(({ made_ms }) => made_ms)).toEqual([3, 2, 1]);
  });

  it("say why they are kept, and how much of them is here", () => {
    expect(["pushed", "input", "output", "else"].map((kind) => keptFor(dataset({ kind })))).toEqual(["pushed by you", "read by jobs", "made by a job", "else"]);
    expect([heldShare(dataset({ held: 1 })), heldShare(dataset({ chunks: 0 }))]).toEqual([0.25, 1]);
  });
});
