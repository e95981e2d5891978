import { describe, expect, it } from "vitest";
import { pollWords, sideWords, stageWords } from "./court";

describe("a case before the court", () => {
  it("says where it stands, and takes nobody's guilt for granted", () => {
    expect(stageWords({ stage: "open", seats: 0, voted: 0, ends: 1 }).text).toBe("A committee is being drawn.");
    expect(stageWords({ stage: "open", seats: 5, voted: 2, ends: 1 }).text).toBe("2 of 5 seats of the committee voted so far.");
    expect(stageWords({ stage: "slashed" })).toMatchObject({ tone: "poppy", word: "guilty" });
    expect(stageWords({ stage: "acquitted" })).toMatchObject({ tone: "leaf", word: "innocent" });
    expect(stageWords({ stage: "undecided" }).text).toContain("nothing was taken");
    expect(stageWords({ stage: "dropped", reason: "it has no stake" }).text).toBe("It could not be brought before the court: it has no stake.");
    expect(stageWords({ stage: "waiting" }).tone).toBe("corn");
  });
});

describe("a contested result", () => {
  it("says whom each answer agrees with", () => {
    expect(sideWords("claim")).toBe("the same as was delivered");
    expect(sideWords({ rival: 2 })).toBe("answer 2");
    expect(sideWords("alone")).toBe("something that nobody else has");
  });

  it("counts its polls, the claim's votes first", () => {
    expect(pollWords([1, 10])).toBe("1 for what was delivered, 10 for answer 1");
    expect(pollWords([0, 3, 1])).toBe("0 for what was delivered, 3 for answer 1, 1 for answer 2");
  });
});
