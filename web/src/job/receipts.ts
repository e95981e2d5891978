// Reckons receipts again in the browser: sums, shares, the chain from one to the next, and the hub's signature. Who wants
// all of it (hashes, lots, jurors and the requester's order too) runs `gleaner receipt verify`.
import type { TaskReceipt, Verdict } from "../api/views";
import { exact, units } from "../format/amount";

/** Something that does not fit. */
export interface Fault {
  receipt: number;
  text: string;
}

const PAID: Record<Verdict, boolean> = {
  not_asked: true,
  not_drawn: true,
  agreed: true,
  upheld: true,
  refuted: false,
  not_repeatable: true,
  undecided: false,
  nobody_to_check: true,
  job_ended: true,
};

/** What a verdict means, in words. */
export const VERDICTS: Record<Verdict, string> = {
  not_asked: "accepted: no check was asked for",
  not_drawn: "accepted: the lot did not fall on it",
  agreed: "accepted: another owner's worker computed the same",
  upheld: "accepted: answers differed, and the vote was for it",
  refuted: "refuted: answers differed, and the vote was against it",
  not_repeatable: "accepted: the program does not repeat itself",
  undecided: "not paid: answers differed, and there were too few to decide",
  nobody_to_check: "accepted: nobody else was there that could compute it",
  job_ended: "accepted: its job ended before it was checked",
};

export function pays(verdict: Verdict): boolean {
  return PAID[verdict];
}

const RECOMPUTED: ReadonlySet<Verdict> = new Set<Verdict>(["agreed", "upheld", "refuted", "not_repeatable", "undecided"]);

/** Whether somebody else has computed the result again, whatever came of it. */
export function isRecomputed(verdict: Verdict): boolean {
  return RECOMPUTED.has(verdict);
}

function ceil(part: bigint, whole: bigint): bigint {
  return (part + whole - 1n) / whole;
}

function least(one: bigint, two: bigint): bigint {
  return one < two ? one : two;
}

/** What does not fit within one receipt. */
export function checkOne({ facts }: TaskReceipt): string[] {
  const faults: string[] = [];
  const expect = (what: string, found: bigint, reckoned: bigint) => {
    if (found !== reckoned) faults.push(`${what} is ${exact(found)} GLN, but should be ${exact(reckoned)} GLN`);
  };
  const { meter, price, payout } = facts;
  const clock = BigInt(Math.max(0, meter.finished - meter.placed)) * 1000n + 1000n;
  const ran = least(BigInt(facts.commitment.claim.ran), clock);
  if (BigInt(meter.ran) !== ran) faults.push(`it counts ${meter.ran} µs, but ${ran} µs were claimed and possible`);
  const full = least(ceil(units(facts.placement.per_second) * BigInt(meter.ran), 1_000_000n), units(price.hold));
  expect("the price", units(price.gross), full - units(price.bond));
  const paid = pays(facts.verdict);
  if (units(price.bond) * 10n > (paid ? full : 0n)) faults.push(`a bond of ${price.bond} GLN is more than a tenth of what is paid`);
  const after = units(price.sum_before) + (paid ? units(price.gross) : 0n);
  expect("the worker's sum", units(price.sum_after), after);
  const platform = (sum: bigint) => (sum * BigInt(price.share_points)) / 10_000n;
  const share = platform(units(price.sum_after)) - platform(units(price.sum_before));
  expect("the platform's share", units(payout.platform), paid ? share : 0n);
  expect("the worker's payout", units(payout.worker), paid ? units(price.gross) - share : 0n);
  if (facts.draw && facts.draw.selected && facts.verdict === "not_drawn") faults.push("the lot fell on it, but it was not checked");
  return faults;
}

/** What does not fit within and between the receipts of one job, in their order. */
export function checkAll(receipts: TaskReceipt[]): Fault[] {
  const faults: Fault[] = receipts.flatMap((receipt) => checkOne(receipt).map((text) => ({ receipt: receipt.facts.number, text })));
  const paid = new Map<string, number>();
  let sum = 0n;
  receipts.forEach(({ facts }, index) => {
    const before = receipts[index - 1];
    const say = (text: string) => faults.push({ receipt: facts.number, text });
    if (before && facts.number !== before.facts.number + 1) say(`receipt ${before.facts.number + 1} is missing before it`);
    else if (before && facts.previous !== before.hash) say("it does not name the hash of the receipt before it");
    if (!before && facts.number === 0 && facts.previous !== null) say("it is the first and names one before it");
    if (before && facts.hub !== before.facts.hub) say("another hub has signed it");
    if (!pays(facts.verdict)) return;
    const task = `${facts.task.group}.${facts.task.index}`;
    const twice = paid.get(task);
    if (twice !== undefined) say(`its task was paid before, by receipt ${twice}`);
    paid.set(task, facts.number);
    sum += units(facts.price.gross);
  });
  const cap = receipts.find(({ facts }) => facts.order)?.facts.order?.signed.order.cap;
  if (cap !== undefined && sum > units(cap)) faults.push({ receipt: -1, text: `all together cost ${exact(sum)} GLN, more than the order's cap of ${cap} GLN` });
  return faults;
}

const SIGNED = new TextEncoder().encode("gleaner receipt signed by its hub 1");

export function fromHex(text: string): Uint8Array<ArrayBuffer> {
  const pairs = text.match(/../g) ?? [];
  return Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16));
}

/** Whether the hub's key signed the receipt's hash; null if this browser cannot tell. */
export async function isSigned(receipt: TaskReceipt): Promise<boolean | null> {
  try {
    const key = await crypto.subtle.importKey("raw", fromHex(receipt.facts.hub), "Ed25519", false, ["verify"]);
    const message = new Uint8Array([...SIGNED, ...fromHex(receipt.hash)]);
    return await crypto.subtle.verify("Ed25519", key, fromHex(receipt.signature), message);
  } catch {
    return null;
  }
}
