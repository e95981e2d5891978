import { describe, expect, it } from "vitest";
import type { DeskChoice, DeskQuote } from "../api/views";
import { finish, hasEnded, priceRange, reserved, sureWord } from "./offer";

const KNOWN: DeskChoice = {
  name: "cheap",
  price: { low: "0.28", expected: "0.31", high: "0.36" },
  finish_ms: { low: 420_000, expected: 500_000, high: 660_000 },
  sure: "good",
  why: "it rests on 412 earlier tasks like these",
  rests_on: 412,
  binding: { price: "0.372", until: 600_000 },
};
const UNKNOWN: DeskChoice = { ...KNOWN, name: "fast", price: null, finish_ms: null, sure: "unknown", rests_on: 0, binding: null };
const QUOTE: DeskQuote = { quote: "q", name: "n", tasks: 40, cap: "1", choices: [KNOWN, UNKNOWN], groups: [], reasons: [] };

describe("a choice", () => {
  it("says between what eight of ten such jobs end, and how sure that is", () => {
    expect(priceRange(KNOWN)).toBe("eight of ten cost 0.28 to 0.36 GLN");
    expect(finish(KNOWN)).toBe("done in about 8 min 20 s, eight of ten in 7 min to 11 min");
    expect(sureWord(KNOWN)).toBe("good");
  });

  it("of equal ends says one", () => {
    const price = { low: "0.3", expected: "0.3", high: "0.3" };
    expect(priceRange({ ...KNOWN, price })).toBe("eight of ten cost about 0.30 GLN");
    const finish_ms = { low: 60_000, expected: 60_000, high: 60_000 };
    expect(finish({ ...KNOWN, finish_ms })).toBe("done in about 1 min");
  });

  it("of which nothing is known says so", () => {
    expect(priceRange(UNKNOWN)).toBeNull();
    expect(finish(UNKNOWN)).toBe("nobody knows yet how long it takes");
    expect(sureWord(UNKNOWN)).toBe("not known");
  });

  it("reserves its binding price, and without one the job's cap", () => {
    expect(reserved(QUOTE, KNOWN)).toBe(372_000_000n);
    expect(reserved(QUOTE, UNKNOWN)).toBe(1_000_000_000n);
    expect(reserved(QUOTE, undefined)).toBe(1_000_000_000n);
  });

  it("binds until its moment, and one that never bound does not end", () => {
    expect(hasEnded(KNOWN, 599_999)).toBe(false);
    expect(hasEnded(KNOWN, 600_000)).toBe(true);
    expect(hasEnded(UNKNOWN, Number.MAX_SAFE_INTEGER)).toBe(false);
  });
});
