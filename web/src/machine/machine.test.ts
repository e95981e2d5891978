import { describe, expect, it } from "vitest";
import type { MachineView } from "../api/pending";
import { hourlyPrice, readHours, standing } from "./standing";

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
});

describe("hours", () => {
  it("are spans of the day", () => {
    expect(readHours("22:00-06:00, 12:30-13:00")).toEqual(["22:00-06:00", "12:30-13:00"]);
    for (const text of ["", "22-6", "24:00-01:00", "22:00"]) expect(readHours(text)).toBeNull();
  });
});

describe("earnings of several machines", () => {
  it("are added up moment by moment", async () => {
    const { together } = await import("./together");
    const one = { items: [{ at: 1, earned: "1", energy: "0.1", tasks: 2 }], earned: "1", energy: "0.1" };
    const two = { items: [{ at: 0, earned: "2", energy: "0", tasks: 1 }, { at: 1, earned: "0.5", energy: "0.2", tasks: 1 }], earned: "2.5", energy: "0.2" };
    expect(together([one, two])).toEqual({
      items: [{ at: 0, earned: "2", energy: "0", tasks: 1 }, { at: 1, earned: "1.5", energy: "0.3", tasks: 3 }],
      earned: "3.5",
      energy: "0.3",
    });
  });
});
