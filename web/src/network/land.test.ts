import { describe, expect, it } from "vitest";
import { land, placeOfRegion } from "./land";

describe("the map", () => {
  const points = land(3);
  const near = (x: number, y: number) => points.some(([a, b]) => Math.abs(a - x) <= 2 && Math.abs(b - y) <= 2);

  it("has land where there is land, and sea where there is sea", () => {
    for (const [x, y] of [[10, 50], [-100, 40], [-60, -10], [25, 0], [80, 22], [105, 35], [135, -25], [139, 36]] as const)
      expect(near(x, y), `${x} ${y}`).toBe(true);
    for (const [x, y] of [[-30, 30], [-140, 0], [80, -30], [-20, -30], [160, 20]] as const)
      expect(near(x, y), `${x} ${y}`).toBe(false);
  });

  it("finds regions by the first part of their names, and says when it does not know one", () => {
    expect(placeOfRegion("eu")).not.toBeNull();
    expect(placeOfRegion("us-east-1")).toEqual(placeOfRegion("us-east"));
    expect(placeOfRegion("EU_berlin")).toEqual(placeOfRegion("eu"));
    expect(placeOfRegion("home")).toBeNull();
  });
});
