import { afterEach, describe, expect, it, vi } from "vitest";
import { QueryClient } from "@tanstack/react-query";
import { everyPage, PAGES_MAX } from "./pages";
import * as queries from "./queries";

describe("pages", () => {
  const book = (pages: number) => (cursor: string | null) => {
    const number = Number(cursor ?? 0);
    return Promise.resolve({ items: [number], next: number + 1 < pages ? String(number + 1) : null });
  };

  it("are followed to the last", async () => {
    const { pages, more } = await everyPage(book(3));
    expect(pages.flatMap((page) => page.items)).toEqual([0, 1, 2]);
    expect(more).toBe(false);
  });

  it("are not followed without end, and what is left out is said", async () => {
    const { pages, more } = await everyPage(book(PAGES_MAX + 1));
    expect(pages).toHaveLength(PAGES_MAX);
    expect(more).toBe(true);
  });
});

describe("a year of earnings", () => {
  afterEach(() => void vi.unstubAllGlobals());

  it("has all its hours, also those beyond the hub's first page", async () => {
    const HOUR = 3_600_000;
    const asked: URL[] = [];
    const point = (hour: number) => ({ hour, gross: "1", net: "1", tasks: 1, ran_micros: 0 });
    vi.stubGlobal("fetch", (where: string) => {
      const url = new URL(where, "http://hub");
      asked.push(url);
      const first = Number(url.searchParams.get("cursor") ?? 0);
      const limit = Math.min(Number(url.searchParams.get("limit") ?? 744), 5000);
      const items = Array.from({ length: Math.min(limit, 8760 - first) }, (_, index) => point((first + index) * HOUR));
      const next = first + items.length < 8760 ? String(first + items.length) : null;
      return Promise.resolve(new Response(JSON.stringify({ worker: 3, items, total: point(0), energy: null, next })));
    });
    const view = await new QueryClient().fetchQuery(queries.earnings(3, 365));
    expect(view.items).toHaveLength(8760);
    expect(view.items.at(-1)?.hour).toBe(8759 * HOUR);
    expect(asked.map((url) => url.searchParams.get("limit"))).toEqual(["10000", "10000"]);
    expect(new Set(asked.map((url) => url.searchParams.get("from"))).size).toBe(1);
  });
});
