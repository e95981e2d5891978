import { describe, expect, it } from "vitest";
import { exact, parseAmount, share, shown, units } from "./amount";
import { bytes, count, counted, parseBytes, percent, progress, short, size } from "./number";
import { ago, span, spanMicros } from "./time";

describe("amounts", () => {
  it("read back what they print, to the last unit", () => {
    for (const value of [0n, 1n, 999_999_999n, 1_000_000_000n, 1_250_000_000n, 2n ** 64n - 1n])
      expect(parseAmount(exact(value))).toBe(value);
    expect(parseAmount("2 GLN")).toBe(2_000_000_000n);
    expect(exact(-5n)).toBe("-0.000000005");
  });

  it("refuse what the hub refuses", () => {
    for (const text of ["", "GLN", "-1", "1e3", "1.0000000001", "1..2", "1 2", "1."]) expect(parseAmount(text)).toBeNull();
    expect(units(undefined)).toBe(0n);
  });

  it("are shown with the digits that count", () => {
    expect(shown("0")).toBe("0");
    expect(shown("1234.5678")).toBe("1,234.57");
    expect(shown("0.1")).toBe("0.10");
    expect(shown("0.0007313")).toBe("0.000731");
    expect(shown("0.000000001")).toBe("0.000000001");
    expect(shown(-2_500_000_000n)).toBe("-2.50");
  });

  it("make shares between nothing and all", () => {
    expect(share(1n, 4n)).toBe(0.25);
    expect(share(5n, 0n)).toBe(0);
    expect(share(9n, 4n)).toBe(1);
  });
});

describe("time", () => {
  it("names the two largest units", () => {
    expect(span(0)).toBe("0 s");
    expect(span(0.4)).toBe("under 1 ms");
    expect(span(820)).toBe("820 ms");
    expect(span(1500)).toBe("1.5 s");
    expect(span(59_900)).toBe("60 s");
    expect(span(72 * 60_000)).toBe("1 h 12 min");
    expect(span(2 * 86_400_000 + 5000)).toBe("2 d");
    expect(spanMicros(2_500_000)).toBe("2.5 s");
  });

  it("tells past from future", () => {
    expect(ago(1000, 2000)).toBe("just now");
    expect(ago(0, 180_000)).toBe("3 min ago");
    expect(ago(7_200_000, 0)).toBe("in 2 h");
  });
});

describe("numbers", () => {
  it("never round progress to all or nothing", () => {
    expect(progress(999, 1000)).toBe("99 %");
    expect(progress(1, 1000)).toBe("under 1 %");
    expect(progress(1000, 1000)).toBe("100 %");
    expect(progress(0, 0)).toBe("0 %");
  });

  it("carry their units", () => {
    expect(counted(1, "task")).toBe("1 task");
    expect(counted(2400, "task")).toBe("2,400 tasks");
    expect(count(1_200_000)).toBe("1.2M");
    expect(percent(0.0001)).toBe("under 1 %");
    expect(percent(0.0512, 1)).toBe("5.1 %");
    expect(bytes(1536)).toBe("1.5 KiB");
    expect(size("24GiB")).toBe("24 GiB");
    expect(parseBytes("512MiB")).toBe(512 * 2 ** 20);
    expect(parseBytes("many")).toBeNull();
  });

  it("shorten long names and leave short ones", () => {
    expect(short("0x0123456789abcdef0123")).toBe("0x01234567…0123");
    expect(short("abc")).toBe("abc");
  });
});
