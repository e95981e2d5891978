// Made-up jobs that move on by the clock. Development only.
import { generateKeyPairSync, sign } from "node:crypto";

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const HUB = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("hex");

const TILES = { width: 960, height: 540, tile_width: 120, tile_height: 108 };
const WORKERS = ["barn-4090", "orchard", "millpond", "loft-mini", "granary"];
const start = Date.now() - 95_000;

function attempt(id, task, worker, from, to, state, why) {
  const index = Number(/\[(\d+)\]/.exec(task)[1]);
  return { task, attempt: id, group: 0, index, worker: WORKERS.indexOf(worker), worker_name: worker, second: false, cause: state === "failed" ? "worker_left" : null, started_at: Math.round(from), ended_at: to === null ? null : Math.round(to), state, why };
}

/** Attempts of the rendering: tiles one after the other, one machine lost on the way. */
export function attempts() {
  const found = [];
  let id = 1;
  for (let tile = 0; tile < 27; tile++) {
    const worker = WORKERS[tile % 5];
    const from = start + Math.floor(tile / 5) * 16_000 + (tile % 5) * 900;
    const took = 9000 + ((tile * 7919) % 6000);
    if (tile === 12) {
      found.push(attempt(id++, "render[12]", "millpond", from, from + 4200, "failed", "the best idle device that fits (speed 2870, 0.00008 GLN a second)"));
      found.push(attempt(id++, "render[12]", "barn-4090", from + 4800, from + 4800 + took, "done", "tried again, because millpond went away"));
      continue;
    }
    const ended = tile < 23 ? from + took : null;
    found.push(attempt(id++, `render[${tile}]`, worker, from, ended, ended ? "done" : "running", `the best idle device that fits (speed ${2000 + (tile % 5) * 400}, 0.0001 GLN a second)`));
  }
  return found;
}

const summary = (change) => ({ requester: "@orchard", known: 0, retried: 0, ended_at: null, ...change });

export function jobs() {
  return [
    summary({ id: 42, name: "harvested field", state: "running", tasks: 40, done: 22, running: 4, retried: 1, spent: "0.1842", price_max: "1", submitted_at: start - 4000 }),
    summary({ id: 41, name: "words of autumn", state: "running", tasks: 9, done: 5, running: 2, spent: "0.0021", price_max: "0.1", submitted_at: start - 60_000 }),
    summary({ id: 40, name: "lora on field notes", state: "ordered", tasks: 3, done: 0, running: 0, spent: "0", price_max: "6", submitted_at: start + 80_000 }),
    summary({ id: 38, name: "primes below ten million", state: "done", tasks: 100, done: 100, known: 12, running: 0, spent: "0.0314", price_max: "0.1", submitted_at: start - 7_200_000, ended_at: start - 7_080_000 }),
    summary({ id: 33, name: "sweep of rates", state: "failed", task: "train[2]", cause: "out_of_memory", reason: "train[2] needed more than its 512 MiB on 3 workers. Raise memory in [task.needs], or make the batches smaller.", tasks: 3, done: 2, running: 0, retried: 3, spent: "0.41", price_max: "2", submitted_at: start - 86_400_000, ended_at: start - 86_000_000 }),
    summary({ id: 29, name: "survey of a gigabyte", state: "cancelled", tasks: 8, done: 3, running: 0, spent: "0.2", price_max: "1", submitted_at: start - 3 * 86_400_000, ended_at: start - 3 * 86_400_000 + 240_000 }),
  ];
}

const group = (change) => ({ runtime: "wasm", extent: "Single", reads: [], unchecked: 0, saved: 0, predicted_micros: null, ...change });

export function view(id) {
  const job = jobs().find((one) => one.id === id);
  if (!job) return null;
  const groups =
    id === 42
      ? [group({ name: "render", runtime: "wgsl", extent: { Tiles: TILES }, tasks: 40, done: 22, running: 4, queued: 13, unchecked: 1, predicted_micros: 11_400_000 })]
      : id === 41
        ? [
            group({ name: "split", extent: { Array: { first: 0, step: 1, count: 4 } }, tasks: 4, done: 4, running: 0, queued: 0 }),
            group({ name: "count", extent: { Array: { first: 0, step: 1, count: 4 } }, reads: [0], tasks: 4, done: 1, running: 2, queued: 1, predicted_micros: 2_000_000 }),
            group({ name: "merge", reads: [1], tasks: 1, done: 0, running: 0, queued: 0 }),
          ]
        : [group({ name: id === 33 ? "train" : "main", tasks: job.tasks, done: job.done, running: job.running, queued: job.tasks - job.done - job.running })];
  return {
    ...job,
    groups,
    workers: WORKERS.slice(0, 4).map((name, worker) => ({ worker, name, done: 8 - worker, failed: worker === 2 ? 1 : 0, ran_micros: (8 - worker) * 11_000_000, gross: `0.0${62 - worker * 9}`, earned: `0.0${52 - worker * 8}` })),
    contests: [],
    failures:
      job.retried > 0
        ? [{ task: id === 42 ? "render[12]" : "train[2]", attempt: 13, worker: "millpond", cause: id === 42 ? "worker_left" : "out_of_memory", detail: id === 42 ? "its connection ended" : "the program needed 530 MiB, its limit is 512 MiB", consequence: id === 42 ? "nobody paid for it; it was tried again on barn-4090" : "you paid for the time that it ran; three workers said the same, so the job ended", at: start + 36_000 }]
        : [],
    checks: [
      { verdict: "accepted: the lot did not fall on it", results: 18, paid: true },
      { verdict: "accepted: another owner's worker computed the same", results: 4, paid: true },
    ],
    awards: [],
  };
}

export function explain(id) {
  const job = jobs().find((one) => one.id === id);
  if (!job) return null;
  return {
    job: id,
    state: job.state,
    waiting: id === 42 ? [{ task: "render", queued: 13, reasons: [{ code: "busy", text: "every device that fits has all the work it takes; the next should be free in about 3 s", devices: 5 }, { code: "memory", text: "has less than the 8 GiB of memory that it needs", devices: 2 }] }] : [{ task: "merge", queued: 1, reasons: [{ code: "input", text: "waits for 3 outputs of count", devices: null }] }],
    running: attempts()
      .filter((one) => one.ended_at === null)
      .map((one) => ({ task: one.task, attempt: one.attempt, worker: one.worker_name, since: one.started_at, expected_at: Date.now() + 6000, why: one.why, second: false })),
    running_more: 0,
  };
}

export function log(id) {
  const lines = [];
  if (id === 42) for (const one of attempts()) lines.push({ at: one.started_at, task: one.task, worker: one.worker_name, text: `tile ${one.task.slice(7, -1)}: 32 samples a pixel, 2 passes` });
  if (id === 33) for (let step = 1; step <= 60; step++) for (const run of [0, 1]) lines.push({ at: start + step * 1000, task: `train[${run}]`, worker: WORKERS[run], text: `step ${step * 50} loss ${(2.4 * Math.exp(-step / (14 + run * 9)) + 0.31 + 0.02 * Math.sin(step * (run + 2))).toFixed(5)} acc ${(1 - Math.exp(-step / 20)).toFixed(4)}` });
  return lines;
}

export function results(id) {
  const item = (task, index, path, bytes, kind) => ({ task, index, path, bytes, kind, href: `/api/v1/desk/jobs/${id}/results/${task}/${index}/${path}` });
  const done = attempts().filter((one) => one.state === "done");
  if (id === 42) return { items: done.map((one) => item("render", one.index, "tile", 120 * 108 * 4, "other")), pictures: [{ task: "render", done: done.length, tiles: 40, href: "/api/v1/desk/jobs/42/preview/render" }], next: null };
  if (id === 33) return { items: [0, 1].flatMap((index) => [item("train", index, "loss.csv", 812, "table"), item("train", index, "notes.txt", 120, "text")]), pictures: [], next: null };
  if (id === 38) return { items: Array.from({ length: 100 }, (_, index) => item("primes", index, "out", 5, "text")), pictures: [], next: null };
  return { items: [], pictures: [], next: null };
}

export function receipts(id) {
  const share = (sum) => (sum * 1500n) / 10_000n;
  const gln = (value) => `${value / 1_000_000_000n}.${(value % 1_000_000_000n).toString().padStart(9, "0")}`;
  const sums = new Map();
  let previous = null;
  return attempts()
    .filter((one) => one.state === "done")
    .slice(0, id === 42 ? 22 : 5)
    .map((one, number) => {
      const ran = BigInt((one.ended_at - one.started_at) * 1000 - 400_000);
      const gross = (100_000n * ran + 999_999n) / 1_000_000n;
      const refuted = number === 9;
      const before = sums.get(one.worker) ?? 0n;
      const after = refuted ? before : before + gross;
      sums.set(one.worker, after);
      const platform = share(after) - share(before);
      const hash = number.toString(16).padStart(64, "a");
      const facts = {
        version: 4,
        hub: HUB,
        order: null,
        job: "c".repeat(64),
        task: { job: id, group: 0, index: Number(/\[(\d+)\]/.exec(one.task)[1]) },
        number,
        previous,
        placement: { worker: `${one.worker}`.repeat(64), provider: null, runtime: "wgsl", resumed: false, device: "nvidia", class: "nvidia-wgsl-20GiB", per_second: "0.0001", market: { mode: "posted", tier: "on-demand" }, why: one.why },
        owners: [],
        meter: { placed: one.started_at, finished: one.ended_at, ran: Number(ran) },
        price: { hold: "0.01", gross: gln(gross), share_points: 1500, sum_before: gln(before), sum_after: gln(after) },
        commitment: { claim: { attempt: one.attempt, output: "b".repeat(64), ran: Number(ran) } },
        check: "Exact",
        draw: { round: { number: 3, root: "", count: 9, place: number, path: [] }, source: { chain: "00" }, seed: "e".repeat(64), record: { good: 41, bad: 0, stake: "100", exposure: "0.8" }, rate: 52_000, selected: number % 5 === 0 || refuted, piece: 0 },
        audit: number % 5 === 0 || refuted ? { jurors: [{ key: "1", gone: false }, { key: "2", gone: false }], answers: [{ auditor: "1", side: refuted ? "alone" : "claim", distance: 0 }], sample: 0, polls: [], referee: null } : null,
        verdict: refuted ? "refuted" : number % 5 === 0 ? "agreed" : "not_drawn",
        payout: refuted ? { worker: "0", platform: "0" } : { worker: gln(gross - platform), platform: gln(platform) },
        deductions: refuted ? [{ worker: "2".repeat(64), provider: null, amount: "5", evidence: "f".repeat(64) }] : [],
      };
      previous = hash;
      return { facts, hash, signature: sign(null, Buffer.concat([Buffer.from("gleaner receipt signed by its hub 1"), Buffer.from(hash, "hex")]), privateKey).toString("hex") };
    });
}
