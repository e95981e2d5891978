import { blake3 } from "@noble/hashes/blake3.js";
import { describe, expect, it } from "vitest";
import type { TaskReceipt } from "../api/views";
import { batchMessage, claimHash, factsHash, fromHex, isUnder, receiptMessage } from "./facts";
import { readProofs, wrongHash } from "./proofs";
import { checkSealed } from "./receipts";

const of = (byte: number, length = 32) => byte.toString(16).padStart(2, "0").repeat(length);
const address = (byte: number) => `0x${of(byte, 20)}`;
const TASK = { job: 2, group: 3, index: 4 };
const commitment = (attempt: number) => ({
  claim: { attempt, task: TASK, output: of(6) as string | null, ran: 1_500_000 },
  batch: { root: of(5), count: 2, place: 1, path: [of(8)], signature: of(9, 64) },
});

/** The facts whose hash is pinned where receipts are made: `hashes_of_receipts_and_claims_are_pinned` in gleaner-wire. */
const FACTS = {
  version: 4,
  hub: of(1),
  order: {
    signed: {
      order: { requester: address(1), hub: address(2), job: of(3), cap: "5", bond: "0.000000007", deadline: 1_900_000_000, policy: of(0), nonce: "1".padStart(32, "0") },
      signature: `0x${of(9, 65)}`,
    },
    chain_id: 1,
    escrow: address(3),
    stake: address(5),
    id: of(4),
  },
  job: of(3),
  task: TASK,
  number: 1,
  previous: of(5),
  placement: { worker: of(2), provider: address(3), runtime: "wgsl", resumed: true, device: "nvidia", class: "nvidia", per_second: "0.000001", market: { mode: "posted", tier: "on-demand" }, why: "the cheapest" },
  owners: [{ worker: of(2), signature: of(13, 65) }],
  meter: { placed: 1000, finished: 3000, ran: 1_500_000 },
  price: { hold: "0.000002", bond: "0.000000004", gross: "0.000001496", share_points: 1500, sum_before: "0.00000001", sum_after: "0.000001506" },
  commitment: commitment(1),
  check: "Exact",
  draw: {
    round: { number: 6, root: of(7), count: 1, place: 0, path: [] },
    source: { chain: "010203" },
    seed: of(8),
    record: { good: 1, bad: 0, loses: "0.000000009", exposure: "0.00000001" },
    rate: 1_000_000,
    selected: true,
  },
  audit: {
    jurors: [{ key: of(2), provider: address(3), weight: 1, gone: false }],
    // What does not fit into a number of JavaScript comes as a text.
    answers: [{ auditor: of(2), commitment: commitment(2), side: { rival: 1 }, distance: "18446744073709551615", tolerated: 1_000_000 }],
    sample: 11,
    polls: [{ drawn: [of(2)], votes: [0, 1] }],
    rivals: [of(2)],
    referees: [{ key: of(4), provider: address(3) }],
  },
  verdict: "refuted",
  payout: { worker: "0.000001275", platform: "0.000000225" },
  deductions: [{ worker: of(2), provider: address(3), amount: "0.000000009", evidence: of(11) }],
};
const PINNED = "84f5dd1d76018b61fcdfc1dadf9d449cb7e1d207caec655685987c2248a506cc";

/** The same as the hub writes it, where large numbers are plain digits. */
const WRITTEN = JSON.stringify([{ facts: FACTS, hash: PINNED, signature: of(12, 64) }]).replace('"18446744073709551615"', "18446744073709551615");

/** Every place in a value, as the way to it. */
function* places(value: unknown, way: (string | number)[] = []): Generator<(string | number)[]> {
  if (typeof value !== "object" || value === null) yield way;
  else for (const [key, one] of Object.entries(value)) yield* places(one, [...way, key]);
}

function altered(value: unknown): unknown {
  if (typeof value === "number") return value + 1;
  if (typeof value === "boolean") return !value;
  const text = String(value);
  return `${text.slice(0, -1)}${text.endsWith("1") ? "2" : "1"}`;
}

describe("the hash of a receipt", () => {
  it("is reckoned from its facts as the hub reckons it", () => {
    expect(factsHash(FACTS)).toBe(PINNED);
  });

  it("is no longer the same when anything in it is altered", () => {
    const kept: string[] = [];
    for (const way of places(FACTS)) {
      const copy = structuredClone(FACTS) as unknown as Record<string | number, unknown>;
      const last = way.at(-1) as string | number;
      const holder = way.slice(0, -1).reduce((at, key) => at[key] as typeof copy, copy);
      holder[last] = altered(holder[last]);
      const [proof] = readProofs(JSON.stringify([{ facts: copy, hash: PINNED, signature: "" }]));
      if (!proof || wrongHash(proof) === null) kept.push(way.join("."));
    }
    expect(kept).toEqual([]);
  });

  it("keeps every digit of large numbers, and what looks like one in a text", () => {
    const [proof] = readProofs(WRITTEN);
    expect(proof && wrongHash(proof)).toBeNull();
    const words = WRITTEN.replace("the cheapest", 'of, 12345678901234567890, \\"9007199254740993\\"');
    const [other] = readProofs(words);
    expect(other?.own).toEqual({ hash: factsHash({ ...FACTS, placement: { ...FACTS.placement, why: 'of, 12345678901234567890, "9007199254740993"' } }) });
  });

  it("covers how results are compared, and orders that nobody made", () => {
    const numeric = (absolute: string) => factsHash({ ...FACTS, check: { Numeric: { number: "f32", absolute, relative: "0.000001", learned: true } } });
    expect(numeric("0.02")).not.toBe(numeric("0.020000000001"));
    expect(factsHash({ ...FACTS, order: null, check: { Image: { pixel: 300, perceptual: 2000, learned: false } } })).toMatch(/^[0-9a-f]{64}$/);
  });

  it("is not reckoned of what is no receipt", () => {
    expect(() => factsHash({ ...FACTS, note: "paid twice" })).toThrow("no receipt has “note”");
    expect(() => factsHash({ ...FACTS, verdict: "fine" })).toThrow("is none of");
    expect(() => factsHash({ ...FACTS, hub: "12" })).toThrow("is not 32 bytes");
    expect(() => factsHash({ ...FACTS, number: -1 })).toThrow("no number of 64 bits");
    const [old] = readProofs(JSON.stringify([{ facts: { ...FACTS, version: 3 }, hash: PINNED, signature: "" }]));
    expect(old && wrongHash(old)).toContain("version 3");
  });
});

describe("a claim", () => {
  it("has the hash that its worker signs", () => {
    expect(claimHash(commitment(1).claim)).toBe("18de13e018557e0c5a25980c68a63b347943ef48849c22f84387e8e8180623e2");
    expect(claimHash({ ...commitment(1).claim, output: null })).not.toBe(claimHash({ ...commitment(1).claim, output: of(0) }));
  });

  it("is found under the root of its batch, at its place and at no other", () => {
    // Roots over the leaves 0, 1, 2… are pinned where trees are made: `roots_are_pinned` in gleaner-wire.
    const one = "0050fd0422a89e4355b0342bd7927df2e6b5237d85320ecaf852b97b8569e963";
    const five = "03747655c99110b83c5ccb16a23cd9547626b7dea0a39de1bf2c441bdce8ec15";
    expect(isUnder(leaf(0), { root: one, count: 1, place: 0, path: [] })).toBe(true);
    const [left, right] = [node(leaf(0), leaf(1)), node(leaf(2), leaf(3))];
    const third = { root: five, count: 5, place: 2, path: [leaf(3), left, leaf(4)] };
    expect(isUnder(leaf(2), third)).toBe(true);
    expect(isUnder(leaf(4), { ...third, place: 4, path: [node(left, right)] })).toBe(true);
    expect(isUnder(leaf(2), { ...third, place: 3 })).toBe(false);
    expect(isUnder(leaf(2), { ...third, count: 6 })).toBe(false);
    expect(isUnder(leaf(1), third)).toBe(false);
    expect(isUnder(leaf(2), { ...third, path: third.path.slice(1) })).toBe(false);
    expect(isUnder(leaf(2), { ...third, path: [...third.path, of(1)] })).toBe(false);
  });
});

const toHex = (bytes: Uint8Array | ArrayBuffer) => Buffer.from(bytes as Uint8Array).toString("hex");
const hashed = (tag: string, ...parts: Uint8Array[]) => toHex(blake3(Buffer.concat([Buffer.from(tag), ...parts])));
const leaf = (value: number) => hashed("gleaner leaf 1", Uint8Array.of(value, 0, 0, 0));
const node = (left: string, right: string) => hashed("gleaner node 1", fromHex(left), fromHex(right));

async function signer() {
  const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
  const key = toHex(await crypto.subtle.exportKey("raw", pair.publicKey));
  return { key, sign: async (message: Uint8Array<ArrayBuffer>) => toHex(await crypto.subtle.sign("Ed25519", pair.privateKey, message)) };
}

/** A receipt that holds as far as hashes and signatures go. */
async function sealed(): Promise<TaskReceipt> {
  const [hub, worker] = [await signer(), await signer()];
  const { claim } = commitment(1);
  const root = hashed("gleaner root 1", Uint8Array.of(1, 0, 0, 0), fromHex(claimHash(claim)));
  const batch = { root, count: 1, place: 0, path: [], signature: "" };
  batch.signature = await worker.sign(batchMessage(batch, hub.key));
  const draw = { ...FACTS.draw, round: { number: 6, root, count: 1, place: 0, path: [] } };
  const facts = { ...FACTS, hub: hub.key, placement: { ...FACTS.placement, worker: worker.key }, commitment: { claim, batch }, draw, audit: null } as unknown as TaskReceipt["facts"];
  const hash = factsHash(facts);
  return { facts, hash, signature: await hub.sign(receiptMessage(hash)) };
}

describe("a sealed receipt", () => {
  const found = async (receipt: TaskReceipt) => (await checkSealed(readProofs(JSON.stringify([receipt])))).faults.map(({ text }) => text);
  const rehashed = (receipt: TaskReceipt, facts: Partial<TaskReceipt["facts"]>) => ({ ...receipt, facts: { ...receipt.facts, ...facts }, hash: factsHash({ ...receipt.facts, ...facts }) });

  it("holds as it is", async () => {
    expect(await found(await sealed())).toEqual([]);
  });

  it("does not hold when a fact is altered, though its signature is right", async () => {
    const receipt = await sealed();
    const payout = { worker: "1", platform: "0" };
    expect((await found({ ...receipt, facts: { ...receipt.facts, payout } })).join()).toContain("something in it was altered");
    expect(await found(rehashed(receipt, { payout }))).toEqual(["the hub has not signed it"]);
  });

  it("does not hold with somebody else's claim", async () => {
    const receipt = await sealed();
    const { claim, batch } = receipt.facts.commitment;
    const longer = rehashed(receipt, { commitment: { claim: { ...claim, ran: claim.ran + 1 }, batch } });
    expect(await found(longer)).toEqual(["what the worker claims is not in the batch that it names", "its claim is not in the round that the lot was drawn for", "the hub has not signed it"]);
    const others = rehashed(receipt, { placement: { ...receipt.facts.placement, worker: of(2) } });
    expect(await found(others)).toContain("the worker has not signed what it claims");
    expect(await found(rehashed(receipt, { task: { ...TASK, index: 5 } }))).toContain("its claim is that of another task");
  });
});
