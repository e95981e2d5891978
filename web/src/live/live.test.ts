import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AttemptsView, GroupView, JobSummary, JobView } from "../api/views";
import { backoff, FIRST_MS, LONGEST_MS } from "./backoff";
import { Feed } from "./feed";
import { mergeAttempts, mergeFailure, mergeJob, mergePages, mergeWorker, readLive } from "./merge";
import { PAUSE_MS, Refresher } from "./refresh";
import { LiveSocket, type Standing } from "./socket";

function job(change: Record<string, unknown> = {}): JobSummary {
  return {
    id: 7,
    name: "field",
    requester: "@ada",
    state: "running",
    tasks: 40,
    done: 10,
    known: 0,
    running: 4,
    retried: 0,
    spent: "0.1",
    price_max: "1",
    submitted_at: 1000,
    ended_at: null,
    ...change,
  } as JobSummary;
}

describe("events", () => {
  it("that are none are passed over", () => {
    for (const text of ["", "{", "4", "null", "{}", '{"event":"of a newer hub"}']) expect(readLive(text)).toBeNull();
    expect(readLive('{"event":"missed","count":3}')).toEqual({ event: "missed", count: 3 });
  });

  it("move a job on, and keep what only its whole view has", () => {
    const view = { ...job(), groups: [{ name: "render" }] } as unknown as JobView;
    const moved = mergeJob(view, job({ done: 12 }));
    expect(moved.done).toBe(12);
    expect(moved.groups).toBe(view.groups);
  });

  it("that are older than what is known change nothing", () => {
    const known = job({ done: 12 });
    expect(mergeJob(known, job({ done: 11 }))).toBe(known);
    const ended = job({ state: "done", done: 40, ended_at: 9 });
    expect(mergeJob(ended, job({ done: 40 }))).toBe(ended);
    expect(mergeJob(job(), ended).state).toBe("done");
  });

  it("put a new job first, and take one out of a list where it does not belong any more", () => {
    const pages = [{ items: [job()], next: null }];
    const added = mergePages(pages, "running", job({ id: 8 }));
    expect(added[0]?.items.map((one) => one.id)).toEqual([8, 7]);
    const ended = mergePages(added, "running", job({ state: "done", done: 40, ended_at: 5 }));
    expect(ended[0]?.items.map((one) => one.id)).toEqual([8]);
    expect(mergePages(pages, "done", job({ id: 9 }))).toEqual(pages);
  });

  it("change the state of one worker", () => {
    const page = { items: [{ id: 1, state: "busy" as const }, { id: 2, state: "busy" as const }], next: null };
    expect(mergeWorker(page, { id: 2, state: "offline" }).items[1]?.state).toBe("offline");
    expect(mergeWorker(page, { id: 3, state: "offline" })).toBe(page);
  });

  it("add a failure once", () => {
    const failure = { attempt: 5, task: "render[3]" } as JobView["failures"][number];
    const view = { ...job(), failures: [] } as unknown as JobView;
    const once = mergeFailure(view, failure);
    expect(mergeFailure(once, failure)).toBe(once);
    expect(once.failures).toHaveLength(1);
  });
});

describe("attempts", () => {
  const known: AttemptsView = {
    job: 7,
    not_listed: 0,
    items: [{ attempt: 1, task: "render[0]", group: 0, index: 0, worker: 3, worker_name: "ada", started_at: 1, ended_at: null, state: "running", cause: null, why: "the best", second: true }],
  };
  const groups = [{ name: "render", tasks: 4, extent: { Array: { first: 0, step: 1, count: 4 } } }] as GroupView[];
  const change = (more: object) => ({ attempt: 1, group: 0, index: 0, worker: 3, worker_name: null, started_at: 1, ended_at: null, state: "running" as const, cause: null, why: "", ...more });

  it("end, and keep what the event does not say again", () => {
    const merged = mergeAttempts(known, groups, [change({ ended_at: 9, state: "done" })]);
    expect(merged.items).toEqual([{ ...known.items[0], ended_at: 9, state: "done" }]);
    expect(mergeAttempts(merged, groups, [change({})]).items[0]?.ended_at).toBe(9);
  });

  it("begin, with the name that the hub would give them", () => {
    const merged = mergeAttempts(known, groups, [change({ attempt: 2, index: 3, worker_name: "bob", why: "idle" })]);
    expect(merged.items[1]).toMatchObject({ task: "render[3]", worker_name: "bob", second: false });
  });
});

describe("the feed", () => {
  it("shows an event on every page that lists the job", () => {
    const cache = new QueryClient();
    cache.setQueryData(["jobs", "running"], { pages: [{ items: [job()], next: null }], pageParams: [null] });
    cache.setQueryData(["job", 7, "view"], { ...job(), groups: [] });
    new Feed(cache).message(JSON.stringify({ event: "job", ...job({ done: 11 }) }));
    expect(cache.getQueryData(["job", 7, "view"])).toMatchObject({ done: 11, groups: [] });
    expect(cache.getQueryData(["jobs", "running"])).toMatchObject({ pages: [{ items: [{ done: 11 }] }] });
  });

  it("asks again for whatever else a job's end and a machine's change move", () => {
    const cache = new QueryClient();
    const invalidate = vi.spyOn(cache, "invalidateQueries");
    const asked = () => invalidate.mock.calls.map(([filters]) => JSON.stringify(filters?.queryKey));
    const feed = new Feed(cache);
    feed.message(JSON.stringify({ event: "job", ...job() }));
    expect(asked()).not.toContain('["invoices"]');
    feed.message(JSON.stringify({ event: "job", ...job({ id: 8, state: "done", done: 40, ended_at: 9 }) }));
    expect(asked()).toEqual(expect.arrayContaining(['["job",8]', '["wallet"]', '["invoices"]']));
    feed.message(JSON.stringify({ event: "worker", id: 3, state: "busy" }));
    expect(asked()).toEqual(expect.arrayContaining(['["machines"]', '["earnings",3]']));
  });

  it("shows a machine's state where its owner sees it, with whatever else is known of it", () => {
    const cache = new QueryClient();
    cache.setQueryData(["machines"], { items: [{ id: 3, state: "available", price: "market" }], more: false });
    new Feed(cache).message(JSON.stringify({ event: "worker", id: 3, state: "busy" }));
    expect(cache.getQueryData(["machines"])).toEqual({ items: [{ id: 3, state: "busy", price: "market" }], more: false });
  });

  it("asks for everything again after a break, and not at the first connection", () => {
    const cache = new QueryClient();
    const invalidate = vi.spyOn(cache, "invalidateQueries");
    const feed = new Feed(cache);
    feed.opened(false);
    expect(invalidate).not.toHaveBeenCalled();
    feed.opened(true);
    expect(invalidate).toHaveBeenCalledWith();
  });
});

describe("asking again", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("happens once in each pause, and the last wish is not lost", () => {
    const asked: string[] = [];
    const refresher = new Refresher((name) => asked.push(name));
    for (let wish = 0; wish < 5; wish++) refresher.want("job");
    refresher.want("status");
    expect(asked).toEqual(["job", "status"]);
    vi.advanceTimersByTime(PAUSE_MS);
    expect(asked).toEqual(["job", "status", "job"]);
    vi.advanceTimersByTime(10 * PAUSE_MS);
    expect(asked).toHaveLength(3);
  });
});

class Wire {
  sent: string[] = [];
  send(text: string): void {
    this.sent.push(text);
  }
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  close(): void {
    this.onclose?.();
  }
}

describe("the connection", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function connect() {
    const wires: Wire[] = [];
    const heard: (string | boolean)[] = [];
    const socket = new LiveSocket(
      {
        address: () => "ws://hub",
        open: () => {
          const wire = new Wire();
          wires.push(wire);
          return wire as unknown as WebSocket;
        },
        now: () => Date.now(),
        chance: () => 1,
      },
      { message: (text) => heard.push(text), opened: (again) => heard.push(again) },
    );
    return { wires, heard, socket };
  }

  it("comes back after the hub was gone, and says that it was", () => {
    const { wires, heard, socket } = connect();
    const stood: Standing["is"][] = [];
    socket.watch(() => stood.push(socket.stands().is));
    socket.start();
    wires[0]?.onopen?.();
    wires[0]?.onmessage?.({ data: "hello" });
    wires[0]?.onclose?.();
    expect(socket.stands()).toEqual({ is: "waiting", retryAt: Date.now() + FIRST_MS });
    vi.advanceTimersByTime(FIRST_MS);
    wires[1]?.onclose?.();
    vi.advanceTimersByTime(2 * FIRST_MS);
    wires[2]?.onopen?.();
    expect(heard).toEqual([false, "hello", true]);
    expect(stood).toEqual(["connecting", "open", "waiting", "connecting", "waiting", "connecting", "open"]);
  });

  it("tries at once when it is told that the network is back", () => {
    const { wires, socket } = connect();
    socket.start();
    wires[0]?.onclose?.();
    socket.hurry();
    expect(wires).toHaveLength(2);
    vi.advanceTimersByTime(60_000);
    expect(wires).toHaveLength(2);
  });

  it("that was replaced has nothing more to say", () => {
    const { wires, socket } = connect();
    socket.start();
    socket.start();
    wires[0]?.onclose?.();
    expect(socket.stands().is).toBe("connecting");
    socket.stop();
    expect(socket.stands().is).toBe("closed");
    vi.advanceTimersByTime(60_000);
    expect(wires).toHaveLength(2);
  });

  it("says what is followed, when it opens and when that changes", async () => {
    const { wires, socket } = connect();
    const leave = socket.follow("job:7");
    const other = socket.follow("job:7");
    socket.follow("jobs");
    socket.start();
    wires[0]?.onopen?.();
    await Promise.resolve();
    leave();
    await Promise.resolve();
    other();
    await Promise.resolve();
    expect(wires[0]?.sent).toEqual(['{"watch":["job:7","jobs"]}', '{"watch":["jobs"]}']);
    wires[0]?.onclose?.();
    vi.advanceTimersByTime(FIRST_MS);
    wires[1]?.onopen?.();
    await Promise.resolve();
    expect(wires[1]?.sent).toEqual(['{"watch":["jobs"]}']);
  });

  it("waits longer each time, up to a limit", () => {
    expect([0, 1, 2, 30].map((failures) => backoff(failures, 1))).toEqual([500, 1000, 2000, LONGEST_MS]);
    expect(backoff(0, 0)).toBe(FIRST_MS / 2);
  });
});
