import { describe, expect, it } from "vitest";
import type { MachineView } from "../api/views";
import { binMs, earned, together } from "./earnings";
import { KEEP, share, wanted } from "./sharing";
import { hourlyPrice, readHours, staked, standing } from "./standing";

function machine(change: Partial<MachineView>): MachineView {
  const device = { kind: "cpu", name: "cpu", memory: "4GiB", cards: 1, slots: 2, network: false, eevee: false, price_per_second: "0.0001", runtimes: [] };
  return { state: "available", running: 0, resting: [], tests: [], offer: { name: "a", region: "eu", provider: null, devices: [device] }, ...change } as unknown as MachineView;
}

describe("a machine", () => {
  it("says why it does nothing", () => {
    expect(standing(machine({ state: "offline" }))).toContain("not connected");
    expect(standing(machine({ resting: [0] }))).toContain("You need it yourself");
    expect(standing(machine({ tests: [{ device: 0, runtime: "wasm", score: null, due: null, why: "" }] }))).toContain("still testing");
    expect(standing(machine({}))).toContain("Nothing that fits it waits");
    expect(standing(machine({ running: 1 }))).toContain("1 task");
  });

  it("asks by the hour what its cheapest device asks by the second", () => {
    expect(hourlyPrice(machine({}))).toBe(360_000_000n);
  });

  it("has its stake once, however many machines are paid to the same wallet", () => {
    const paid = (id: number, provider: string | null, stake: string) => machine({ id, offer: { ...machine({}).offer, provider }, audits: { stake } } as unknown as Partial<MachineView>);
    expect(staked([paid(1, "0xa", "10"), paid(2, "0xa", "10"), paid(3, "0xb", "5"), paid(4, null, "1"), machine({ id: 5, audits: null })])).toBe(16_000_000_000n);
  });
});

describe("hours", () => {
  it("are spans of the day", () => {
    expect(readHours("22:00-06:00, 12:30-13:00")).toEqual(["22:00-06:00", "12:30-13:00"]);
    for (const text of ["", "22-6", "24:00-01:00", "22:00"]) expect(readHours(text)).toBeNull();
  });
});

describe("earnings", () => {
  const HOUR = 3_600_000;
  const point = (hour: number, net: string, ran_micros: number) => ({ hour, gross: "0", net, tasks: 1, ran_micros });
  const view = (...items: ReturnType<typeof point>[]) => ({ worker: 1, items, total: point(0, "0", 0), energy: null, next: null });

  it("of hours make days, with the electricity of the time that tasks ran taken off", () => {
    const found = earned(view(point(0, "1", 1_800_000_000), point(HOUR, "2", 3_600_000_000), point(24 * HOUR, "4", 0)), "0.5", binMs(30));
    expect(found.bins).toEqual([
      { at: 0, earned: 3_000_000_000n, energy: 750_000_000n, tasks: 2 },
      { at: 24 * HOUR, earned: 4_000_000_000n, energy: 0n, tasks: 1 },
    ]);
    expect([found.earned, found.energy, found.metered]).toEqual([7_000_000_000n, 750_000_000n, true]);
  });

  it("of several machines are added up, and say so where a tariff is missing", () => {
    const one = earned(view(point(0, "1", 0)), "0.5", binMs(1));
    const two = earned(view(point(0, "2", 0), point(HOUR, "1", 0)), null, binMs(1));
    const both = together([one, two]);
    expect(both.bins.map((bin) => bin.earned)).toEqual([3_000_000_000n, 1_000_000_000n]);
    expect(both.metered).toBe(false);
  });
});

describe("sharing a machine", () => {
  it("takes a token that can do nothing else, for a day, and that stands in no command", () => {
    const token = wanted(Date.UTC(2026, 0, 2, 3, 4));
    expect(token).toEqual({ label: "share a machine, 2026-01-02 03:04", scopes: { read: false, submit: false, provide: true }, ends_at: Date.UTC(2026, 0, 3, 3, 4) });
    expect(share("https://hub.example")).toBe("gleaner share --hub https://hub.example --account-token-file ~/gleaner-account.token");
    expect(KEEP).toContain("umask 077");
  });
});
