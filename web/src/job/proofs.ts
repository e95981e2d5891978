// Receipts as the hub sent them, each with the hash that its facts really have.
import type { TaskReceipt } from "../api/views";
import { factsHash, VERSION } from "./facts";
import { Unfit } from "./postcard";

export interface Proof {
  receipt: TaskReceipt;
  /** The hash of what it says, reckoned here, or why there is none. */
  own: { hash: string } | { reason: string };
}

const DIGITS_SAFE = 15;

/** JSON in which numbers that JavaScript would round stay as they were written, as texts. */
function exactly(source: string): unknown {
  const kept = (token: string) => (/^\d+$/.test(token) && token.length > DIGITS_SAFE ? `"${token}"` : token);
  return JSON.parse(source.replace(/"(?:[^"\\]|\\.)*"|[\d.eE+-]+/g, kept));
}

function reckoned(facts: unknown): Proof["own"] {
  try {
    return { hash: factsHash(facts) };
  } catch (error) {
    if (error instanceof Unfit) return { reason: error.message };
    throw error;
  }
}

/** Reads an answer with receipts. */
export function readProofs(source: string): Proof[] {
  const told = exactly(source) as { facts: unknown }[];
  const receipts = JSON.parse(source) as TaskReceipt[];
  return receipts.map((receipt, at) => ({ receipt, own: reckoned(told[at]?.facts) }));
}

/** What is wrong with a receipt's hash; null if nothing is. */
export function wrongHash({ receipt, own }: Proof): string | null {
  if (receipt.facts.version !== VERSION) return `it is of version ${receipt.facts.version}, and this page reckons version ${VERSION}`;
  if ("reason" in own) return `it cannot be hashed: ${own.reason}`;
  return own.hash === receipt.hash ? null : "what it says does not have the hash that the hub signed: something in it was altered";
}
