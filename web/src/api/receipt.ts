// Receipts of judged results, as `GET /jobs/{job}/proofs` has them. Only what the page reads is named.
import type { Amount, DeviceKind, Millis } from "./views";

export type Verdict =
  | "not_asked"
  | "not_drawn"
  | "agreed"
  | "upheld"
  | "refuted"
  | "not_repeatable"
  | "undecided"
  | "nobody_to_check"
  | "job_ended";

export interface TaskReceipt {
  facts: Facts;
  hash: string;
  signature: string;
}

export interface Facts {
  version: number;
  hub: string;
  order: { signed: { order: { cap: Amount; requester: string } }; chain_id: number; escrow: string; id: string } | null;
  job: string;
  task: { job: number; group: number; index: number };
  number: number;
  previous: string | null;
  placement: {
    worker: string;
    provider: string | null;
    device: DeviceKind;
    class: string;
    per_second: Amount;
    market: { mode: string; tier: string };
    why: string;
  };
  meter: { placed: Millis; finished: Millis; ran: number };
  price: { hold: Amount; gross: Amount; share_points: number; sum_before: Amount; sum_after: Amount };
  commitment: { claim: { attempt: number; output: string | null; pieces: number; root: string; ran: number } };
  check: unknown;
  draw: {
    round: { number: number; count: number; place: number };
    source: "hub" | { chain: string };
    seed: string;
    record: { good: number; bad: number; stake: Amount; exposure: Amount };
    rate: number;
    selected: boolean;
  } | null;
  audit: {
    jurors: { key: string; gone: boolean }[];
    answers: { auditor: string; agrees: boolean; distance: number }[];
    sample: number;
    polls: { drawn: string[]; agree: number; differ: number }[];
    referee: string | null;
  } | null;
  verdict: Verdict;
  payout: { worker: Amount; platform: Amount };
  deductions: { worker: string; provider: string | null; amount: Amount; evidence: string }[];
}
