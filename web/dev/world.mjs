// A made-up network for looking at pages while nothing real is at hand. Development only: never shipped, never tested with.
const now = () => Date.now();
const begun = now();

export const machinesOf = [
  ["barn-4090", "eu-central", "nvidia", "NVIDIA GeForce RTX 4090", "24GiB", 1, "0.00011", ["wgsl", "container", "blender"], 4210],
  ["orchard", "eu-west", "nvidia", "NVIDIA GeForce RTX 3060", "12GiB", 1, "0.00005", ["wgsl", "container"], 1490],
  ["millpond", "us-east", "amd", "AMD Radeon RX 7900 XTX", "24GiB", 1, "0.00008", ["wgsl", "blender"], 2870],
  ["loft-mini", "us-west", "apple", "Apple M4 Pro", "16GiB", 1, "0.00004", ["wgsl"], 1120],
  ["granary", "asia-east", "nvidia", "NVIDIA A100", "80GiB", 2, "0.0003", ["container"], 6820],
  ["shed", "au", "cpu", "AMD EPYC 7302, 8 slots", "32GiB", 8, "0.00001", ["wasm", "container"], 640],
  ["terrace", "sa-east", "intel", "Intel Arc A770", "16GiB", 1, "0.00003", ["wgsl"], 930],
  ["hedgerow", "home", "cpu", "AMD Ryzen 5, 4 slots", "16GiB", 4, "0.00001", ["wasm"], 980],
];

const STATES = ["busy", "busy", "available", "paused", "busy", "available", "offline", "probation"];

export function workers() {
  return machinesOf.map(([name, region, kind, device, memory, slots, price, runtimes, score], id) => ({
    id,
    key: `${id}`.repeat(64),
    state: STATES[id],
    offer: {
      name,
      region,
      provider: `0x${`${id}f`.repeat(20)}`,
      devices: [
        {
          kind,
          name: device,
          memory,
          cards: 1,
          slots,
          network: false,
          eevee: runtimes.includes("blender"),
          price_per_second: price,
          runtimes: runtimes.map((runtime) => ({ runtime, score, loops_max: null, engine: null })),
        },
      ],
    },
    running: STATES[id] === "busy" ? slots : 0,
    done: 1200 - id * 137,
    failed: id * 3,
    earned: `${(41.2 / (id + 1)).toFixed(4)}`,
    settled: `${(38 / (id + 1)).toFixed(4)}`,
    forfeited: id === 2 ? "0.25" : "0",
    reliability_per_mille: 998 - id * 7,
    speeds: [score],
    resting: id === 3 ? [0] : [],
    tests: runtimes.map((runtime, at) => ({ device: 0, runtime, score: id === 7 ? null : score - at * 90, due: now() + 3e6, why: id === 7 ? "the answer came after 61 s, the limit was 20 s" : "" })),
    audits: { rate: 52_000 + id * 90_000, by_record: 52_000 + id * 90_000, by_stake: 31_000, good: 340 - id * 31, bad: id === 2 ? 1 : 0, given_up: id, stake: `${100 - id * 8}`, exposure: "0.84", exposure_max: "9.5" },
    managed: false,
  }));
}

export function machines() {
  return workers()
    .slice(0, 4)
    .map((worker) => ({
      ...worker,
      telemetry: worker.state === "offline" ? [] : [{ device: 0, load: worker.state === "busy" ? 0.94 : 0.02, temperature: worker.state === "busy" ? 71 + worker.id * 8 : 43, memory_used: 9.4e9 / (worker.id + 1), watts: worker.state === "busy" ? 312 / (worker.id + 1) : 22 }],
      telemetry_at: now() - 2000,
      price: worker.id === 1 ? "0.18" : "market",
      paired: worker.id !== 4,
      energy_per_hour: worker.id === 3 ? null : "0.031",
      hours: worker.id === 3 ? "22:00-06:00" : null,
      penalties:
        worker.id === 2
          ? [{ at: now() - 86_400_000 * 3, job: 31, task: "render[17]", amount: "5", why: "others computed something else, and 11 of 11 in two polls were against it", evidence: "d7fa2970ef48".padEnd(64, "0") }]
          : [],
    }));
}

export function earnings(from, to) {
  const items = [];
  for (let hour = Math.ceil(from / 3_600_000) * 3_600_000; hour < to; hour += 3_600_000) {
    const net = Math.max(0, 0.03 + 0.03 * Math.sin(hour / 2e7) + 0.02 * Math.sin(hour / 1.1e8));
    if (net > 0.01) items.push({ hour, gross: (net / 0.85).toFixed(6), net: net.toFixed(6), tasks: Math.round(net * 90), ran_micros: Math.round(net * 4e10) });
  }
  return { worker: 0, items: items.slice(-744), total: items[0], next: null };
}

export const CLASSES = [
  ["nvidia-container-20GiB", "nvidia", "container", "20GiB", 0.396, 18, 16, 22],
  ["nvidia-wgsl-7GiB", "nvidia", "wgsl", "7GiB", 0.18, 41, 23, 0],
  ["nvidia-container-40GiB", "nvidia", "container", "40GiB", 1.08, 6, 6, 3],
  ["amd-wgsl-20GiB", "amd", "wgsl", "20GiB", 0.288, 9, 4, 0],
  ["apple-wgsl-14GiB", "apple", "wgsl", "14GiB", 0.144, 5, 1, 0],
  ["cpu-wasm-14GiB", "cpu", "wasm", "14GiB", 0.036, 64, 31, 0],
];

export function prices() {
  return CLASSES.map(([name, kind, runtime, memory_min, hour, slots, busy, waiting]) => ({
    class: name,
    kind,
    runtime,
    memory_min,
    per_second: (hour / 3600).toFixed(9),
    per_hour: hour.toFixed(6),
    lowest: ((hour * 0.8) / 3600).toFixed(9),
    median: ((hour * 0.97) / 3600).toFixed(9),
    slots,
    busy,
    waiting,
    pressure: Math.round((busy / slots) * 1000),
  }));
}

export function history(name) {
  const view = prices().find((one) => one.class === name);
  if (!view) return null;
  const series = (count, step) =>
    Array.from({ length: count }, (_, index) => {
      const swing = 1 + 0.16 * Math.sin(index / (count / 9)) + 0.05 * Math.sin(index * 1.7);
      return { at: now() - (count - index) * step, per_second: (Number(view.per_second) * swing).toFixed(9), utilisation: Math.round(620 + 260 * Math.sin(index / (count / 9) + 0.6)), queue: 0 };
    });
  return { ...view, minutes: series(480, 60_000), hours: series(700, 3_600_000) };
}

const regions = [
  { region: "eu-central", workers: 21, slots: 48, busy: 17, slots_busy: 31 },
  { region: "eu-west", workers: 12, slots: 19, busy: 8, slots_busy: 9 },
  { region: "us-east", workers: 17, slots: 30, busy: 14, slots_busy: 22 },
  { region: "us-west", workers: 9, slots: 14, busy: 3, slots_busy: 3 },
  { region: "asia-east", workers: 8, slots: 16, busy: 7, slots_busy: 12 },
  { region: "au", workers: 3, slots: 8, busy: 0, slots_busy: 0 },
  { region: "sa-east", workers: 2, slots: 2, busy: 1, slots_busy: 1 },
  { region: "home", workers: 4, slots: 6, busy: 2, slots_busy: 3 },
];

export function status(jobs) {
  return {
    at: now(),
    version: "0.1.0",
    workers: { known: 92, online: 80, busy: 44, idle: 31, resting: 5 },
    classes: prices(),
    regions,
    tasks: { queued: 25, running: 92, done: 2_418_330, done_last_minute: 431, done_last_hour: 24_880 },
    jobs: { running: jobs.filter((job) => job.state === "running").length + 11, submitted: 18_990, done: 18_204, failed: 310, cancelled: 463 },
    checks: { drawn: 2_418_330, audited: 131_006, contested: 29, refuted: 18, wrong: 31, overhead_per_mille: 54 },
    paid: "18442.318",
    history: Array.from({ length: 288 }, (_, index) => ({ at: now() - (288 - index) * 300_000, workers: 80, slots: 143, busy: 81, queued: 3, jobs: 12, tasks_done: Math.round(2050 + 600 * Math.sin(index / 30) + 200 * Math.sin(index * 0.9)), audited: 100, refuted: 0, paid: "3.1" })),
  };
}

export const templates = () => [
  {
    name: "blender-still",
    title: "Render a still",
    kind: "render",
    about: "One picture of a Blender scene, cut into tiles that many machines render at once. The same bytes as if one had done it.",
    author: "gleaner",
    picture: null,
    inputs: {
      properties: {
        scene: { type: "file", title: "Scene", description: "A .blend file with its textures packed" },
        frame: { type: "integer", title: "Frame", default: 1, minimum: 0 },
        samples: { type: "integer", title: "Samples", default: 128, minimum: 1, maximum: 8192 },
        tiles: { type: "integer", title: "Tiles across and down", default: 4, minimum: 1, maximum: 16 },
        denoise: { type: "boolean", title: "Denoise", default: true, description: "after the tiles are merged" },
      },
      required: ["scene", "frame"],
      order: ["scene", "frame", "samples", "tiles", "denoise"],
    },
    job: 'name = "still"\n\n[budget]\nprice_max = "2 GLN"\n\n[[task]]\nname = "still"\nruntime = "blender"\nprogram = "{{scene}}"\n\n[task.blender]\nframes = "{{frame}}"\nsamples = {{samples}}\nsplit = { tiles = [{{tiles}}, {{tiles}}] }\n',
    runs: 412,
    typical: { cost: "0.42", time_ms: 184_000 },
  },
  { name: "train-lora", title: "Fine-tune with LoRA", kind: "train", about: "Adapters for a language model on your own text. Checkpoints move with it if a machine leaves.", author: "orchard", picture: null, inputs: { properties: {}, required: [], order: [] }, job: 'name = "lora"\n', runs: 96, typical: { cost: "3.1", time_ms: 5_400_000 } },
  { name: "sweep-rates", title: "Sweep over learning rates", kind: "sweep", about: "The same training for each value, side by side, and a table of what came out.", author: "millpond", picture: null, inputs: { properties: {}, required: [], order: [] }, job: 'name = "sweep"\n', runs: 31, typical: { cost: "1.2", time_ms: 1_900_000 } },
  { name: "count-words", title: "Count words, map and reduce", kind: "workflow", about: "Split a text, count each part, merge. A first graph of tasks to play with.", author: "gleaner", picture: null, inputs: { properties: {}, required: [], order: [] }, job: 'name = "words"\n', runs: 0, typical: null },
];

export { begun };
