import { describe, expect, it } from "vitest";
import type { AttemptView, GroupView, JobDispute, TaskReceipt } from "../api/views";
import { grains } from "../ui/Kernels";
import { aligned, curvesOf, measures, readTable, tableCurves } from "./curves";
import { objection } from "./dispute";
import { gantt, ticks, tone } from "./gantt";
import { blocked, cells, edgesOf, layout } from "./graph";
import { keep, LINES_MAX, LogReader } from "./log";
import { fromHex } from "./facts";
import { checkAll, checkOne, headline, isSigned } from "./receipts";
import { extentWords, nameTask } from "./task";

function attempt(change: Partial<AttemptView>): AttemptView {
  return { task: "render[0]", attempt: 1, group: 0, index: 0, worker: 1, worker_name: "ada", started_at: 0, ended_at: null, state: "running", cause: null, second: false, why: "", ...change };
}

function group(change: Partial<GroupView>): GroupView {
  return { name: "render", runtime: "wasm", extent: "Single", reads: [], tasks: 4, done: 0, running: 0, queued: 4, unchecked: 0, saved: 0, predicted_micros: null, ...change };
}

describe("tasks", () => {
  it("are named as the hub names them, by the number that they stand for", () => {
    const steps = { Array: { first: 10, step: 5, count: 4 } };
    expect(nameTask(group({ extent: steps }), 2)).toBe("render[20]");
    expect(nameTask(group({ tasks: 1 }), 0)).toBe("render");
    expect(nameTask(group({ extent: { Tiles: { width: 4, height: 4, tile_width: 2, tile_height: 2 } } }), 3)).toBe("render[3]");
    expect(extentWords(steps)).toBe("numbers 10 to 25 in steps of 5");
  });
});

describe("the graph", () => {
  it("puts each group behind all that it reads", () => {
    const edges = [{ from: "split", to: "count" }, { from: "count", to: "merge" }, { from: "split", to: "merge" }];
    const places = layout(["split", "count", "merge"], edges);
    expect(places.map((place) => place.column)).toEqual([0, 1, 2]);
  });

  it("spreads groups that stand beside each other around the middle", () => {
    const places = layout(["a", "b", "end"], [{ from: "a", to: "end" }, { from: "b", to: "end" }]);
    expect(places.map((place) => place.row)).toEqual([-0.5, 0.5, 0]);
  });

  it("ends even where edges go in a circle", () => {
    expect(layout(["a", "b"], [{ from: "a", to: "b" }, { from: "b", to: "a" }])).toHaveLength(2);
  });

  it("reads edges from positions, and passes over what is not there", () => {
    const groups = [group({ name: "a" }), group({ name: "b", reads: [0, 9] })];
    expect(edgesOf(groups)).toEqual([{ from: "a", to: "b" }]);
  });

  it("counts tasks that wait for others, and no others", () => {
    expect(blocked(group({ reads: [0], tasks: 10, queued: 0, done: 2, running: 1, unchecked: 1 }))).toBe(6);
    expect(blocked(group({ reads: [], tasks: 10, queued: 0 }))).toBe(0);
    expect(blocked(group({ reads: [0] }))).toBe(0);
  });

  it("lights each task by its newest attempt", () => {
    const attempts = [
      attempt({ index: 0, ended_at: 5, state: "failed" }),
      attempt({ index: 0, attempt: 2 }),
      attempt({ index: 1, ended_at: 5, state: "done" }),
      attempt({ index: 2, group: 1 }),
      attempt({ index: 3, ended_at: 5, state: "cancelled" }),
    ];
    expect(cells(group({ done: 1 }), 0, attempts)).toEqual(["running", "done", "queued", "queued"]);
    expect(cells(group({ done: 0, unchecked: 1 }), 0, attempts)?.[1]).toBe("unchecked");
    expect(cells(group({ tasks: 1000 }), 0, attempts)).toBeNull();
  });

  it("shows results that were known without an attempt", () => {
    expect(cells(group({ done: 2 }), 0, [])?.filter((cell) => cell === "done")).toHaveLength(2);
  });
});

describe("grains", () => {
  it("are one for each task where there is room", () => {
    expect(grains({ tasks: 4, done: 2, running: 1 }, 10)).toEqual(["done", "done", "running", "queued"]);
  });

  it("never hide what is rare, nor show all as done before it is", () => {
    const few = grains({ tasks: 100_000, done: 99_999, running: 1 }, 20);
    expect(few).toHaveLength(20);
    expect(few).toContain("running");
    expect(grains({ tasks: 1000, done: 999, running: 0 }, 10).at(-1)).toBe("queued");
  });
});

describe("the chart of attempts", () => {
  it("gives attempts that overlap on a worker lanes of their own", () => {
    const chart = gantt(
      [
        attempt({ attempt: 1, started_at: 0, ended_at: 10, state: "done" }),
        attempt({ attempt: 2, started_at: 5 }),
        attempt({ attempt: 3, started_at: 10, ended_at: 15, state: "failed" }),
        attempt({ attempt: 4, worker: 2, worker_name: "bob", started_at: 3, ended_at: 4, state: "done" }),
      ],
      2000,
    );
    expect(chart.rows.map((row) => [row.worker, row.lanes, row.bars.map((bar) => bar.lane)])).toEqual([
      ["ada", 2, [0, 1, 0]],
      ["bob", 1, [0]],
    ]);
    expect([chart.from, chart.to]).toEqual([0, 2000]);
  });

  it("has round marks and says how attempts ended by colour", () => {
    expect(ticks(0, 60_000, 6)).toEqual([0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
    expect(tone(attempt({}))).toBe("straw");
    expect(tone(attempt({ ended_at: 1, state: "failed" }))).toBe("poppy");
    expect(gantt([], 5000).rows).toEqual([]);
  });
});

describe("curves", () => {
  it("come from lines that name their step", () => {
    expect(measures("step 12 loss 0.345")).toEqual({ step: 12, values: [["loss", 0.345]] });
    expect(measures("epoch=3, acc: 91.2%, lr=1e-4")).toEqual({ step: 3, values: [["acc", 91.2], ["lr", 1e-4]] });
    expect(curvesOf([{ task: "a", text: "going on after 7 of 9" }])).toEqual([]);
  });

  it("go on after a task has moved, with the newest word for each step", () => {
    const lines = ["step 1 loss 3", "step 2 loss 2", "step 1 loss 4", "step 3 loss 1"].map((text) => ({ task: "train[0]", text }));
    expect(curvesOf(lines)).toEqual([{ name: "loss", task: "train[0]", x: [1, 2, 3], y: [4, 2, 1] }]);
  });

  it("of several tasks stand on one axis", () => {
    const curve = (task: string, x: number[]) => ({ name: "loss", task, x, y: x });
    expect(aligned([curve("a", [1, 3]), curve("b", [2, 3])])).toEqual({ x: [1, 2, 3], values: [[1, null, 3], [null, 2, 3]] });
  });

  it("come from tables of numbers and from nothing else", () => {
    const table = readTable("step,loss\n1,3\n2,2\n3,1\n");
    expect(table && tableCurves(table, "t")).toEqual([{ name: "loss", task: "t", x: [1, 2, 3], y: [3, 2, 1] }]);
    expect(readTable("1 2\n3 4\n5 6")?.head).toEqual(["column 1", "column 2"]);
    expect(readTable('{"step":1,"loss":3,"note":"a"}\n{"step":2,"loss":2,"note":"b"}\n{"step":3,"loss":1,"note":"c"}')).toEqual({
      head: ["step", "loss"],
      rows: [[1, 3], [2, 2], [3, 1]],
    });
    expect(readTable("{\n{\n{")).toBeNull();
    expect(readTable("one\ntwo\nthree\nfour")).toBeNull();
    expect(readTable("a,b\n1\n2\n3")).toBeNull();
    expect(tableCurves({ head: ["a", "b"], rows: [[3, 1], [1, 2]] }, "t")).toEqual([]);
  });
});

describe("the log", () => {
  it("is put together from pieces cut anywhere", () => {
    const reader = new LogReader();
    const line = JSON.stringify({ at: 1, task: "a[0]", worker: "w", text: "höhe" });
    expect(reader.take(line.slice(0, 9))).toEqual([]);
    expect(reader.take(`${line.slice(9)}\n{broken\n`)).toHaveLength(1);
    expect(reader.count).toBe(2);
  });

  it("keeps the newest lines", () => {
    const line = { at: 1, task: "a", worker: "w", text: "x" };
    const kept = keep(Array.from({ length: LINES_MAX }, () => line), [{ ...line, text: "new" }]);
    expect(kept).toHaveLength(LINES_MAX);
    expect(kept.at(-1)?.text).toBe("new");
  });
});

function receipt(number: number, change: Partial<TaskReceipt["facts"]> = {}): TaskReceipt {
  const facts: TaskReceipt["facts"] = {
    version: 3,
    hub: "00".repeat(32),
    order: null,
    job: "aa",
    task: { job: 1, group: 0, index: number },
    number,
    previous: number === 0 ? null : `hash ${number - 1}`,
    placement: { worker: "w", provider: null, runtime: "wasm", resumed: false, device: "cpu", class: "cpu", per_second: "0.3", market: { mode: "posted", tier: "on-demand" }, why: "" },
    owners: [],
    meter: { placed: 1000, finished: 4000, ran: 2_500_001 },
    price: { hold: "0.9", bond: "0", gross: "0.7500003", share_points: 1500, sum_before: "0", sum_after: "0.7500003" },
    commitment: { claim: { attempt: 1, task: { job: 1, group: 0, index: number }, output: null, ran: 2_500_001 }, batch: { count: 1, place: 0, path: [], root: "", signature: "" } },
    check: "Exact" as const,
    draw: null,
    audit: null,
    verdict: "agreed",
    payout: { worker: "0.637500255", platform: "0.112500045" },
    deductions: [],
    ...change,
  };
  return { facts, hash: `hash ${number}`, signature: "" };
}

describe("receipts", () => {
  it("that are right have no faults", () => {
    expect(checkAll([receipt(0), receipt(1)])).toEqual([]);
  });

  it("with another price, payout or time are found", () => {
    const dear = receipt(0).facts;
    expect(checkOne(receipt(0, { price: { ...dear.price, gross: "0.8" } })).join()).toContain("the price is 0.8 GLN, but should be 0.7500003 GLN");
    const withheld = { ...dear.price, bond: "0.08", gross: "0.6700003" };
    expect(checkOne(receipt(0, { price: withheld })).join()).toContain("a bond of 0.08 GLN is more than a tenth of what is paid");
    expect(checkOne(receipt(0, { payout: { worker: "1", platform: "0.112500045" } })).join()).toContain("the worker's payout is 1 GLN");
    expect(checkOne(receipt(0, { meter: { placed: 1000, finished: 2000, ran: 2_500_001 } })).join()).toContain("1001000 µs were claimed and possible");
  });

  it("of refuted work pay nothing", () => {
    const price = { ...receipt(0).facts.price, sum_after: "0" };
    expect(checkOne(receipt(0, { verdict: "refuted", price, payout: { worker: "0", platform: "0" } }))).toEqual([]);
    expect(checkOne(receipt(0, { verdict: "refuted", price }))).not.toEqual([]);
  });

  it("that are missing, swapped or paid twice are found", () => {
    expect(checkAll([receipt(0), receipt(2)])[0]?.text).toContain("receipt 1 is missing");
    expect(checkAll([receipt(0), receipt(1, { previous: "another" })])[0]?.text).toContain("does not name the hash");
    expect(checkAll([receipt(0), receipt(1, { task: { job: 1, group: 0, index: 0 } })])[0]?.text).toContain("paid before, by receipt 0");
  });

  it("beyond the order's cap are found", () => {
    const signed = { order: { cap: "0.5", requester: "0x", hub: "0x", job: "", bond: "0", deadline: 0, policy: "", nonce: "0" }, signature: "" };
    const order = { signed, chain_id: 1, escrow: "", stake: "", id: "" };
    expect(checkAll([receipt(0, { order })])[0]?.text).toContain("more than the order's cap");
  });

  it("are the hub's only with its signature", async () => {
    const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
    const hex = (bytes: ArrayBuffer) => Buffer.from(bytes).toString("hex");
    const hub = hex(await crypto.subtle.exportKey("raw", pair.publicKey));
    const hash = "ab".repeat(32);
    const message = new Uint8Array([...new TextEncoder().encode("gleaner receipt signed by its hub 1"), ...fromHex(hash)]);
    const signature = hex(await crypto.subtle.sign("Ed25519", pair.privateKey, message));
    const signed = { facts: receipt(0, { hub }).facts, hash, signature };
    expect(await isSigned(signed)).toBe(true);
    expect(await isSigned({ ...signed, hash: "cd".repeat(32) })).toBe(false);
  });
});

describe("the payment of an ended job", () => {
  const dispute = (state: string, step: string) => ({ state, step, claimed: "2", delivered: "1", bond: "0.1", until: null }) as JobDispute;

  it("is something to object to only where it is wrong", () => {
    expect(objection(dispute("proposed", "nothing"))).toBeNull();
    expect(objection(dispute("settled", "nothing"))).toBeNull();
    expect(objection(dispute("proposed", "challenge"))?.verb).toBe("Dispute it");
    expect(objection(dispute("disputed", "nothing"))).toEqual({ title: "Auditors decide what this job is to be paid", verb: null });
    expect(objection(dispute("disputed", "conclude"))?.verb).toBe("Carry the verdict out");
  });
});

describe("what came of reckoning receipts", () => {
  const told = { reckoned: 256, judged: 900, more: false, wrong: [], done: true };

  it("is said of those that were reckoned and of no others", () => {
    expect(headline(told)).toBe("All 256 receipts hold");
    expect(headline({ ...told, more: true })).toBe("256 of 900 receipts hold; the rest is not here yet");
    expect(headline({ ...told, more: true, judged: 0 })).toBe("The first 256 receipts hold; there are more");
    expect(headline({ ...told, done: false })).toBe("256 receipts being reckoned");
  });

  it("counts the receipts that do not fit", () => {
    const wrong = [3, 3, 7].map((number) => ({ receipt: number, text: "" }));
    expect(headline({ ...told, wrong })).toBe("2 receipts of 256 do not fit");
    expect(headline({ ...told, wrong: [{ receipt: -1, text: "beyond the cap" }] })).toBe("Something does not fit");
  });
});
