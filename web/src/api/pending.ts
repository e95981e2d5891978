// What the hub says on routes that its OpenAPI document does not have yet. Once it has them, these move to `views.ts`.
import type { Amount, Millis, WorkerView } from "./views";

export interface Page<T> {
  items: T[];
  next: string | null;
}

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

// The desk: what a person's browser asks to be done

export interface Choice {
  name: "cheap" | "balanced" | "fast";
  price: Amount | null;
  cap: Amount;
  /** How long until it should be done, from and to. */
  finish_ms: [Millis, Millis] | null;
  why: string;
  rests_on: number;
}

export interface DeskQuote {
  quote: string;
  tasks: number;
  cap: Amount;
  choices: Choice[];
  /** Why nothing can be said, or why nobody could take it. */
  reasons: { code: string; text: string; devices: number | null }[];
}

export interface ResultItem {
  task: string;
  index: number;
  path: string;
  bytes: number;
  kind: "image" | "text" | "table" | "other";
}

export interface DeskWallet {
  address: string | null;
  balance: Amount;
  deposited: Amount;
  locked: Amount;
  faucet: boolean;
}

export interface Invoice {
  id: string;
  at: Millis;
  job: number | null;
  what: string;
  paid: Amount;
  platform: Amount;
  returned: Amount;
}

export interface FileView {
  name: string;
  files: number;
  bytes: number;
  made_at: Millis;
}

// One job

export interface AttemptView {
  task: string;
  attempt: number;
  worker: string;
  started_at: Millis;
  ended_at: Millis | null;
  state: string;
  why: string;
}

export interface GraphView {
  groups: { name: string; tasks: number }[];
  edges: { from: string; to: string; same_index: boolean }[];
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
  watts_cost_per_hour: Amount | null;
  penalties: Penalty[];
}

export interface EarningPoint {
  at: Millis;
  earned: Amount;
  energy: Amount;
  tasks: number;
}

export interface Earnings {
  items: EarningPoint[];
  earned: Amount;
  energy: Amount;
}

// The network, for everybody

export interface StatusView {
  version: string;
  accepting: boolean;
  reason: string | null;
  workers: Record<string, number>;
  slots: number;
  slots_busy: number;
  jobs_running: number;
  jobs_done: number;
  tasks_waiting: number;
  tasks_running: number;
  tasks_done: number;
  /** Tasks finished in each of the last minutes, oldest first. */
  throughput: { at: Millis; done: number }[];
  verification: { judged: number; checked: number; agreed: number; refuted: number; slashed: Amount };
  paid: Amount;
}

export interface RegionView {
  region: string;
  workers: number;
  slots: number;
  busy: number;
}

// The catalogue

export interface TemplateInput {
  type: "string" | "integer" | "number" | "boolean" | "file" | "folder";
  title: string;
  description?: string;
  default?: string | number | boolean;
  enum?: (string | number)[];
  minimum?: number;
  maximum?: number;
  unit?: string;
}

export interface Template {
  name: string;
  title: string;
  kind: "render" | "train" | "sweep" | "workflow";
  about: string;
  author: string;
  picture: string | null;
  inputs: { properties: Record<string, TemplateInput>; required: string[] };
  job: string;
  runs: number;
  typical: { cost: Amount; time_ms: Millis } | null;
}
