// What the hub says on routes that its OpenAPI document does not have yet. Once it has them, these move to `views.ts`.
import type { AttemptView, Amount, Cause, FailureView, JobSummary, Millis, PriceView, WorkerState, WorkerView } from "./views";

// Accounts

export type Role = "requester" | "provider" | "operator";

export interface Session {
  account: { id: number; name: string };
  roles: Role[];
  csrf: string;
  expires_at: Millis;
  second_factor: boolean;
}

export type Scope = "read" | "submit" | "spend" | "provide";

/** What a token is good for; `spend` is the most that it may ever spend. */
export interface Scopes {
  read?: boolean;
  submit?: boolean;
  provide?: boolean;
  spend?: Amount;
}

export interface TokenView {
  id: number;
  label: string;
  scopes: Scopes;
  spent: Amount;
  made_at: Millis;
  used_at: Millis | null;
  ends_at: Millis;
}

export interface TokenMade {
  token: TokenView;
  /** Shown once. */
  text: string;
}

export interface SessionView {
  id: string;
  via: string;
  address: string | null;
  made_at: Millis;
  seen_at: Millis;
  ends_at: Millis;
  current?: boolean;
}

export interface PasskeyView {
  id: string;
  label: string;
  made_at: Millis;
  used_at: Millis | null;
}

export interface LinkedWallet {
  address: string;
  made_at: Millis;
}

export interface SecurityEvent {
  id: number;
  at: Millis;
  kind: string;
  address: string | null;
  detail: string;
}

// Machines

export interface Telemetry {
  device: number;
  load: number | null;
  temperature: number | null;
  memory_used: number | null;
  watts: number | null;
}

export interface Penalty {
  at: Millis;
  job: number | null;
  task: string;
  amount: Amount;
  why: string;
  evidence: string | null;
}

export interface MachineView extends WorkerView {
  telemetry: Telemetry[];
  telemetry_at: Millis | null;
  price: Amount | "market" | null;
  hours: string | null;
  /** What an hour of its device time costs in electricity, as far as it knows its watts and tariff. */
  energy_per_hour: Amount | null;
  /** Whether price and hours can be set from here: it was started with a token of the account. */
  paired: boolean;
  penalties: Penalty[];
}

export interface EarningsPoint {
  /** When the hour began. */
  hour: Millis;
  gross: Amount;
  net: Amount;
  tasks: number;
  ran_micros: number;
}

export interface EarningsView {
  worker: number;
  items: EarningsPoint[];
  total: EarningsPoint;
  next?: string | null;
}

// The network, for everybody

export interface RegionFigure {
  region: string;
  workers: number;
  busy: number;
  slots: number;
  slots_busy: number;
}

export interface StatusView {
  at: Millis;
  version: string;
  workers: { known: number; online: number; busy: number; idle: number; resting: number };
  classes: { class: string; slots: number; busy: number; waiting: number; per_hour: Amount }[];
  regions: RegionFigure[];
  tasks: { queued: number; running: number; done: number; done_last_minute: number; done_last_hour: number };
  jobs: { running: number; submitted: number; done: number; failed: number; cancelled: number };
  checks: { drawn: number; audited: number; contested: number; refuted: number; wrong: number; overhead_per_mille: number };
  paid: Amount;
}

export interface StatusPoint {
  at: Millis;
  workers: number;
  slots: number;
  busy: number;
  queued: number;
  jobs: number;
  tasks_done: number;
  audited: number;
  refuted: number;
  paid: Amount;
}

export interface StatusHistory extends StatusView {
  history: StatusPoint[];
}

// What happens

/** An attempt that started or ended. */
export type AttemptChange = Pick<AttemptView, "attempt" | "group" | "index" | "worker" | "started_at" | "state" | "why"> & {
  worker_name: string | null;
  ended_at: Millis | null;
  cause: Cause | null;
};

export type LiveEvent = { seq: number } & (
  | { event: "watching"; topics: string[]; refused: { topic: string; code: string; reason: string }[] }
  | ({ event: "job" } & JobSummary)
  | { event: "attempts"; job: number; items: AttemptChange[]; more: number }
  | { event: "failure"; job: number; failure: FailureView }
  | { event: "worker"; id: number; name: string; state: WorkerState; running: number }
  | { event: "prices"; items: PriceView[] }
  | ({ event: "status" } & StatusView)
  | { event: "missed"; count: number | null }
);
