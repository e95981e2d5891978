import { describe, expect, it } from "vitest";
import { Keys } from "./keys";
import { wrongReceiver } from "./receiver";

describe("keys of orders", () => {
  const numbered = () => {
    let count = 0;
    return new Keys(() => String(++count));
  };

  it("stay the same for the same wish, and differ for another one", () => {
    const keys = numbered();
    expect(keys.of("withdraw", "2", "")).toBe("1");
    // The outcome is not known, and something else is wanted meanwhile.
    expect(keys.of("withdraw", "3", "")).toBe("2");
    expect(keys.of("withdraw", "2", "")).toBe("1");
    expect(keys.of("withdraw", "2", "0xab")).toBe("3");
  });

  it("are new once the wish was fulfilled", () => {
    const keys = numbered();
    keys.of("deposit", "2");
    keys.done("deposit", "2");
    expect(keys.of("deposit", "2")).toBe("2");
  });
});

describe("a receiver", () => {
  const own = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

  it("is an address that is not one's own", () => {
    expect(wrongReceiver("", own)).toBeNull();
    expect(wrongReceiver(" 0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359 ", own)).toBeNull();
    for (const typed of ["fB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", "0x12", `0x${"g".repeat(40)}`, "ada.eth"]) expect(wrongReceiver(typed, own)).toContain("40 hexadecimal");
    expect(wrongReceiver(`0x${"0".repeat(40)}`, own)).toContain("lost");
    expect(wrongReceiver(own.toLowerCase(), own)).toContain("your wallet here");
  });
});
