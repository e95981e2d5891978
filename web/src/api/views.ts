// What the hub says, by the names that the page uses.

/** Decimal GLN as text. */
export type Amount = string;
/** Milliseconds since 1970, or a span of them. */
export type Millis = number;

export type Cause =
  | "worker_left"
  | "device_fault"
  | "program_fault"
  | "out_of_memory"
  | "time_limit"
  | "bad_input"
  | "refused_by_owner"
  | "hub_fault"
  | "refuted";

export type Runtime = "wasm" | "wgsl" | "container" | "blender";
export type DeviceKind = "cpu" | "software" | "nvidia" | "amd" | "intel" | "apple" | "other";
export type WorkerState = "offline" | "available" | "busy" | "paused" | "probation" | "disqualified";
export type JobStateName = "ordered" | "running" | "done" | "cancelled" | "failed";

export interface JobSummary {
  id: number;
  name: string;
  requester: string;
  state: JobStateName;
  /** Of a failed job. */
  task?: string | null;
  cause?: Cause | null;
  reason?: string;
  tasks: number;
  done: number;
  known: number;
  running: number;
  retried: number;
  spent: Amount;
  price_max: Amount;
  submitted_at: Millis;
  ended_at: Millis | null;
}

export type Extent =
  | "Single"
  | { Array: { first: number; step: number; count: number } }
  | { Tiles: { width: number; height: number; tile_width: number; tile_height: number } };

export interface GroupView {
  name: string;
  runtime: Runtime;
  extent: Extent;
  /** The groups whose outputs it reads, by their position. */
  reads?: number[];
  tasks: number;
  done: number;
  running: number;
  queued: number;
  unchecked: number;
  saved: number;
  predicted_micros: number | null;
}

export interface TallyView {
  worker: number;
  name: string;
  done: number;
  failed: number;
  ran_micros: number;
  gross: Amount;
  earned: Amount;
}

export interface FailureView {
  task: string;
  attempt: number;
  worker: string;
  cause: Cause;
  detail: string;
  consequence: string;
  at: Millis;
}

export interface ChecksView {
  verdict: string;
  results: number;
  paid: boolean;
}

export interface AwardView {
  task: string;
  worker: string;
  bids: number;
  bid: Amount;
  score: Amount;
  second: Amount | null;
  price: Amount;
}

export interface JobView extends JobSummary {
  groups: GroupView[];
  workers: TallyView[];
  failures: FailureView[];
  checks: ChecksView[];
  awards: AwardView[];
}

export interface ReasonView {
  code: string;
  text: string;
  devices: number | null;
}

export interface ExplainView {
  job: number;
  state: JobStateName;
  reason?: string;
  waiting: { task: string; queued: number; reasons: ReasonView[] }[];
  running: {
    task: string;
    attempt: number;
    worker: string;
    since: Millis;
    expected_at: Millis | null;
    why: string;
    second: boolean;
  }[];
  running_more: number;
}

export interface LogView {
  at: Millis;
  task: string;
  worker: string;
  text: string;
}

export interface RuntimeOffer {
  runtime: Runtime;
  score: number;
  loops_max: number | null;
  engine: string | null;
}

export interface DeviceOffer {
  kind: DeviceKind;
  name: string;
  memory: string;
  cards: number;
  slots: number;
  network: boolean;
  eevee: boolean;
  price_per_second: Amount;
  runtimes: RuntimeOffer[];
}

export interface Offer {
  name: string;
  region: string;
  provider: string | null;
  devices: DeviceOffer[];
}

export interface TestView {
  device: number;
  runtime: Runtime;
  score: number | null;
  due: Millis | null;
  why: string;
}

export interface AuditsView {
  rate: number;
  by_record: number;
  by_stake: number;
  good: number;
  bad: number;
  given_up: number;
  stake: Amount;
  exposure: Amount;
  exposure_max: Amount;
}

export interface WorkerView {
  id: number;
  key: string;
  state: WorkerState;
  offer: Offer;
  running: number;
  done: number;
  failed: number;
  earned: Amount;
  settled: Amount;
  forfeited: Amount;
  reliability_per_mille: number;
  speeds: number[];
  resting: number[];
  tests: TestView[];
  audits: AuditsView | null;
  managed: boolean;
}

export interface PriceView {
  class: string;
  kind: DeviceKind;
  runtime: Runtime;
  memory_min: string;
  per_second: Amount;
  per_hour: Amount;
  lowest: Amount | null;
  median: Amount | null;
  slots: number;
  busy: number;
  waiting: number;
  pressure: number;
}

export interface PricePoint {
  at: Millis;
  per_second: Amount;
  utilisation: number;
  queue: number;
}

export interface PriceHistory extends PriceView {
  minutes: PricePoint[];
  hours: PricePoint[];
}

export interface DatasetView {
  data: { root: { id: string; bytes: number }; bytes: number };
  chunks: number;
  owner: string;
  label: string;
  kind: "pushed" | "input" | "output";
  made_ms: Millis;
  until_ms: Millis | null;
  held: number;
  machines: number;
}

export interface Submitted {
  job: number;
  tasks: number;
  reserved: Amount;
}

export interface Health {
  accepting: boolean;
  reason: string | null;
  version: string;
  workers_online: number;
  jobs_running: number;
}

export type Live =
  | ({ event: "job" } & JobSummary)
  | { event: "worker"; id: number; name: string; state: WorkerState }
  | { event: "failure"; job: number; failure: FailureView }
  | { event: "attempt"; job: number }
  | { event: "prices" }
  | { event: "status" }
  | { event: "missed"; count: number };
