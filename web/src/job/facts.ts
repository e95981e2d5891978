// What a receipt says, in the order in which it is hashed: the hash is reckoned again from the facts themselves, so that nobody
// can alter one of them and keep the signature. The same for a worker's claim and the batch that it was signed in.
import { blake3 } from "@noble/hashes/blake3.js";
import type { TaskReceipt } from "../api/views";
import { parseAmount } from "../format/amount";
import { bool, hex, integer, list, option, type Put, readAs, struct, text, variant } from "./postcard";

/** The version of receipts that this page can reckon. */
export const VERSION = 4;

const u8 = integer(8);
const u16 = integer(16);
const u32 = integer(32);
const u64 = integer(64);
const amount = readAs("amount", parseAmount);
const hash = hex(32);
const key = hex(32);
const address = hex(20, "0x");
const bytes = hex(null);
const signature = hex(64);

const nonce = readAs("nonce", (digits) => (/^[0-9a-f]{32}$/i.test(digits) ? BigInt(`0x${digits}`) : null));
/** A decimal with at most twelve places, in units of the last. */
const tolerance = readAs("tolerance", (decimal) => {
  const match = /^(\d+)(?:\.(\d{1,12}))?$/.exec(decimal);
  return match ? BigInt(match[1] ?? "0") * 10n ** 12n + BigInt((match[2] ?? "").padEnd(12, "0")) : null;
});

const task = struct({ job: u64, group: u16, index: u32 });
const order = struct({ requester: address, hub: address, job: hash, cap: amount, bond: amount, deadline: u64, policy: hash, nonce });
const ordered = struct({ signed: struct({ order, signature: hex(null, "0x") }), chain_id: u64, escrow: address, stake: address, id: hash });
const market = struct({ mode: variant("posted", "auction", "race"), tier: variant("reserved", "on-demand", "interruptible") });
const placement = struct({
  worker: key,
  provider: option(address),
  runtime: variant("wasm", "wgsl", "container", "blender"),
  resumed: bool,
  device: variant("cpu", "software", "nvidia", "amd", "intel", "apple", "other"),
  class: text,
  per_second: amount,
  market,
  why: text,
});
const price = struct({ hold: amount, bond: amount, gross: amount, share_points: u32, sum_before: amount, sum_after: amount });
const claim = struct({ attempt: u64, task, output: option(hash), ran: u64 });
const batch = struct({ root: hash, count: u32, place: u32, path: list(hash), signature });
const commitment = struct({ claim, batch });
const number = variant("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "bf16", "f32", "f64");
const check = variant(
  "None",
  "Exact",
  ["Numeric", struct({ number, absolute: tolerance, relative: tolerance, learned: bool })],
  ["Image", struct({ pixel: u16, perceptual: u32, learned: bool })],
  ["Program", struct({ input: u16 })],
);
const draw = struct({
  round: struct({ number: u64, root: hash, count: u32, place: u32, path: list(hash) }),
  source: variant(["chain", bytes], "hub"),
  seed: hash,
  record: struct({ good: u32, bad: u32, loses: amount, exposure: amount }),
  rate: u32,
  selected: bool,
});
const answer = struct({ auditor: key, commitment, side: variant("claim", ["rival", u8], "alone"), distance: u64, tolerated: u64 });
const audit = struct({
  jurors: list(struct({ key, provider: option(address), weight: u64, gone: bool })),
  answers: list(answer),
  sample: u32,
  polls: list(struct({ drawn: list(key), votes: list(u32) })),
  rivals: list(key),
  referees: list(struct({ key, provider: option(address) })),
});
const verdict = variant("not_asked", "not_drawn", "agreed", "upheld", "refuted", "not_repeatable", "undecided", "nobody_to_check", "job_ended");

const FACTS: Put = struct({
  version: u16,
  hub: key,
  order: option(ordered),
  job: hash,
  task,
  number: u64,
  previous: option(hash),
  placement,
  owners: list(struct({ worker: key, signature: bytes })),
  meter: struct({ placed: u64, finished: u64, ran: u64 }),
  price,
  commitment,
  check,
  draw: option(draw),
  audit: option(audit),
  verdict,
  payout: struct({ worker: amount, platform: amount }),
  deductions: list(struct({ worker: key, provider: option(address), amount, evidence: hash })),
});

function joined(...parts: (string | Uint8Array | number[])[]): Uint8Array {
  const all = parts.map((part) => (typeof part === "string" ? new TextEncoder().encode(part) : part));
  const found = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of all) {
    found.set(part, at);
    at += part.length;
  }
  return found;
}

function toHex(found: Uint8Array): string {
  return Array.from(found, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The bytes behind hexadecimal digits. */
export function fromHex(digits: string): Uint8Array<ArrayBuffer> {
  const pairs = digits.match(/../g) ?? [];
  return Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16));
}

/** A number as so many bytes, the lowest first. */
function little(value: number, length: number): number[] {
  return Array.from({ length }, (_, at) => Number((BigInt(value) >> BigInt(8 * at)) & 0xffn));
}

/** What stands for these facts. Throws if they are not those of a receipt. */
export function factsHash(facts: unknown): string {
  const out: number[] = [];
  FACTS(out, facts);
  return toHex(blake3(joined("gleaner receipt 4", out)));
}

type Commitment = TaskReceipt["facts"]["commitment"];

/** What stands for a worker's claim among those that it signed together. */
export function claimHash({ attempt, task: of, output, ran }: Commitment["claim"]): string {
  const told = joined("gleaner claim 2", little(attempt, 8), little(of.job, 8), little(of.group, 2), little(of.index, 4), [output ? 1 : 0], output ? fromHex(output) : new Uint8Array(32), little(ran, 8));
  return toHex(blake3(joined("gleaner leaf 1", told)));
}

/** Whether a leaf stands at its place under a root. */
export function isUnder(leaf: string, { root, count, place, path }: { root: string; count: number; place: number; path: string[] }): boolean {
  if (place >= count) return false;
  let [at, width, top, used] = [place, count, fromHex(leaf) as Uint8Array, 0];
  for (; width > 1; at = Math.floor(at / 2), width = Math.ceil(width / 2)) {
    const beside = at % 2 === 0 ? at + 1 : at - 1;
    if (beside >= width) continue;
    const next = path[used++];
    if (next === undefined) return false;
    top = blake3(at % 2 === 0 ? joined("gleaner node 1", top, fromHex(next)) : joined("gleaner node 1", fromHex(next), top));
  }
  return used === path.length && toHex(blake3(joined("gleaner root 1", little(count, 4), top))) === root;
}

/** What a hub signs under a receipt. */
export function receiptMessage(receipt: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(joined("gleaner receipt signed by its hub 1", fromHex(receipt)));
}

/** What a worker signs for all claims of a batch. */
export function batchMessage({ root, count }: Commitment["batch"], hub: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(joined("gleaner batch 1", fromHex(hub), little(count, 4), fromHex(root)));
}
