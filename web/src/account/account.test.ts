import { describe, expect, it } from "vitest";
import { fromBytes, toBytes } from "./base64url";
import { optionsOf } from "./passkey";
import { modules } from "./qr";
import { scopeWords } from "./scopes";
import { strength } from "./strength";
import { deliveryWords, eventWords, wrongAddress } from "./webhooks";

describe("what a token may do", () => {
  it("says of spending only where a limit is set", () => {
    expect(scopeWords({ read: false, submit: false, provide: true, spend: null }, "0")).toBe("provide");
    expect(scopeWords({ read: true, submit: true, spend: "5" }, "1.5")).toBe("read, submit, spend 5 GLN (1.5 so far)");
  });
});

describe("bytes in addresses", () => {
  it("read back what they write, of any length", () => {
    for (const length of [0, 1, 2, 3, 32]) {
      const bytes = Uint8Array.from({ length }, (_, index) => 250 - index * 7);
      expect(toBytes(fromBytes(bytes))).toEqual(bytes);
      expect(fromBytes(bytes)).toMatch(/^[\w-]*$/);
    }
  });
});

describe("options of passkeys", () => {
  it("are read with and without their wrapping", () => {
    expect(optionsOf({ publicKey: { challenge: "a" } }).challenge).toBe("a");
    expect(optionsOf({ challenge: "b" }).challenge).toBe("b");
  });
});

describe("the picture of a secret", () => {
  it("is a square with the three corners that readers look for", () => {
    const grid = modules("otpauth://totp/Gleaner:ada?secret=JBSWY3DPEHPK3PXP&issuer=Gleaner");
    const size = grid.length;
    expect(grid.every((row) => row.length === size)).toBe(true);
    for (const [x, y] of [[0, 0], [size - 7, 0], [0, size - 7]] as const) {
      expect(grid[y]?.slice(x, x + 7)).toEqual(Array(7).fill(true));
      expect(grid[y + 3]?.slice(x, x + 7)).toEqual([true, false, true, true, true, false, true]);
    }
  });
});

describe("a passphrase", () => {
  it("is judged by its length first", () => {
    expect(strength("").enough).toBe(false);
    expect(strength("Tr0ub4d!").enough).toBe(false);
    expect(strength("aaaaaaaaaaaaaaaa").enough).toBe(false);
    expect(strength("stubble gleaned at dusk").enough).toBe(true);
  });
});

describe("the way back after signing in", () => {
  it("never leaves the page", async () => {
    const { safeThen } = await import("./then");
    expect(safeThen("/jobs/3")).toBe("/jobs/3");
    for (const elsewhere of [null, "", "https://a.example", "//a.example", "/\\a.example", "javascript:alert(1)"]) expect(safeThen(elsewhere)).toBe("/jobs");
  });
});

describe("a webhook", () => {
  it("goes over https to a whole address", () => {
    expect(wrongAddress("https://example.org/gleaner?key=1")).toBeNull();
    expect(wrongAddress("example.org")).toContain("whole address");
    expect(wrongAddress("http://example.org/")).toContain("https only");
    expect(wrongAddress("https://me:secret@example.org/")).toContain("password");
  });

  it("says what it is told", () => {
    expect(eventWords(["job.submitted", "job.done", "job.failed", "job.cancelled"])).toBe("everything");
    expect(eventWords(["job.done", "job.failed"])).toBe("done, failed");
  });

  it("says how each delivery went", () => {
    expect(deliveryWords({ tries: 0, status: null, error: null, state: "waiting" })).toBe("not tried yet");
    expect(deliveryWords({ tries: 1, status: 204, error: null, state: "delivered" })).toBe("1 try: answered 204");
    expect(deliveryWords({ tries: 3, status: 500, error: "it answered 500", state: "waiting" })).toBe("3 tries: it answered 500");
  });
});
