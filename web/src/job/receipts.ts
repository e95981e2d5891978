// Reckons receipts again in the browser: the hash of what each says, sums, shares, the chain from one to the next, and the
// signatures of the hub and the workers. Who wants all of it (lots, jurors, owners and the requester's order too) runs
// `gleaner receipt verify`.
import type { TaskReceipt } from "../api/views";
import { exact, units } from "../format/amount";
import { count, counted } from "../format/number";
import { batchMessage, claimHash, fromHex, isUnder, receiptMessage } from "./facts";
import { type Proof, wrongHash } from "./proofs";
import { pays } from "./verdicts";

/** Something that does not fit. */
export interface Fault {
  receipt: number;
  text: string;
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

/** What signatures and hashes say. */
export interface Sealed {
  faults: Fault[];
  /** Whether this browser can check signatures at all. */
  signatures: boolean;
}

/** A key of the standard's own examples: a browser that does not take it does not know Ed25519. */
const KNOWN_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

function keyOf(digits: string): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", fromHex(digits), "Ed25519", false, ["verify"]);
}

async function knowsSignatures(): Promise<boolean> {
  return keyOf(KNOWN_KEY).then(
    () => true,
    () => false,
  );
}

async function isSignedBy(key: string, signature: string, message: Uint8Array<ArrayBuffer>): Promise<boolean> {
  try {
    return await crypto.subtle.verify("Ed25519", await keyOf(key), fromHex(signature), message);
  } catch {
    // What is no key has signed nothing.
    return false;
  }
}

/** Whether the hub's key signed the receipt's hash. */
export function isSigned({ facts, hash, signature }: TaskReceipt): Promise<boolean> {
  return isSignedBy(facts.hub, signature, receiptMessage(hash));
}

type Facts = TaskReceipt["facts"];

/** Claims in a receipt, with who made them. */
function claims({ placement, commitment, audit }: Facts): { who: string; key: string; commitment: Facts["commitment"] }[] {
  const answers = audit?.answers ?? [];
  return [{ who: "the worker", key: placement.worker, commitment }, ...answers.map((answer) => ({ who: "a juror", key: answer.auditor, commitment: answer.commitment }))];
}

/** What hashes say about what a receipt is made of. */
function loose(facts: Facts): string[] {
  const faults = claims(facts).filter(({ commitment: { claim, batch } }) => !isUnder(claimHash(claim), batch)).map(({ who }) => `what ${who} claims is not in the batch that it names`);
  const { task, commitment, draw } = facts;
  const { claim } = commitment;
  if (claim.task.job !== task.job || claim.task.group !== task.group || claim.task.index !== task.index) faults.push("its claim is that of another task");
  if (draw && !isUnder(claimHash(claim), draw.round)) faults.push("its claim is not in the round that the lot was drawn for");
  return faults;
}

async function unsigned(receipt: TaskReceipt): Promise<string[]> {
  const { facts } = receipt;
  const made = claims(facts).map(async ({ who, key, commitment: { batch } }) => ((await isSignedBy(key, batch.signature, batchMessage(batch, facts.hub))) ? [] : [`${who} has not signed what it claims`]));
  const found = await Promise.all([isSigned(receipt).then((right) => (right ? [] : ["the hub has not signed it"])), ...made]);
  return found.flat();
}

/** What hashes and signatures do not bear out. */
export async function checkSealed(proofs: Proof[]): Promise<Sealed> {
  const signatures = await knowsSignatures();
  const found = proofs.map(async (proof): Promise<Fault[]> => {
    const wrong = wrongHash(proof);
    // What was altered is not looked at any further: nobody has signed it.
    const texts = wrong ? [wrong] : [...loose(proof.receipt.facts), ...(signatures ? await unsigned(proof.receipt) : [])];
    return [...new Set(texts)].map((text) => ({ receipt: proof.receipt.facts.number, text }));
  });
  return { faults: (await Promise.all(found)).flat(), signatures };
}

/** What came of it all, in one line. */
export function headline({ reckoned, judged, more, wrong, done }: { reckoned: number; judged: number; more: boolean; wrong: Fault[]; done: boolean }): string {
  const faulty = new Set(wrong.map((fault) => fault.receipt).filter((number) => number >= 0));
  if (wrong.length > 0) return faulty.size > 0 ? `${counted(faulty.size, "receipt")} of ${count(reckoned)} ${faulty.size === 1 ? "does" : "do"} not fit` : "Something does not fit";
  if (!done) return `${counted(reckoned, "receipt")} being reckoned`;
  if (more) return judged > reckoned ? `${count(reckoned)} of ${counted(judged, "receipt")} hold; the rest is not here yet` : `The first ${counted(reckoned, "receipt")} hold; there are more`;
  return reckoned === 1 ? "The only receipt holds" : `All ${counted(reckoned, "receipt")} hold`;
}

export function signatureWords(sealed: Sealed | null): string {
  if (!sealed) return "Hashes and signatures are being checked.";
  if (!sealed.signatures) return "This browser cannot check signatures (it does not know Ed25519).";
  return sealed.faults.length > 0 ? "" : "The hub has signed each of them, and the workers what they claim.";
}
