// What a proposal would do, and where it stands, in words. Nothing of it is taken from what its author says of it.
import type { Proposal, ProposalAct } from "../api/views";
import { exact } from "../format/amount";
import { percent, short } from "../format/number";
import { span } from "../format/time";
import type { Tone } from "../ui/words";

type Unit = "share" | "money" | "time" | "count";

/** The numbers of the economy by their names in the contracts: as people call them, and what they count. */
const PARAMETERS: Record<string, [string, Unit]> = {
  platformShareBps: ["the platform's share", "share"],
  slashShareBps: ["what a verdict takes of what is locked", "share"],
  bondShareBps: ["the bond of an order", "share"],
  rewardCapBps: ["the most that rewards add to work", "share"],
  minimumStake: ["the least stake of a provider", "money"],
  hubStake: ["the least stake of a hub", "money"],
  workLock: ["what an order locks of a provider's stake", "money"],
  hubLock: ["what an order locks of a hub's stake", "money"],
  challengeWindow: ["the time to challenge a settlement", "time"],
  votingWindow: ["the time in which a committee votes", "time"],
  unbondingDelay: ["the time that taking stake out lasts", "time"],
  committeeSize: ["the auditors of a committee", "count"],
  emissionPerEpoch: ["the most rewards of an epoch", "money"],
  epochLength: ["the length of an epoch", "time"],
  orderDurationMax: ["the longest time of an order", "time"],
};

/** One thing that a proposal would do. */
export function deed(act: ProposalAct): string {
  switch (act.kind) {
    case "set":
      return set(act.parameter, act.value);
    case "pay_tokens":
      return `Pay ${act.amount} GLN of the treasury's tokens to ${act.to}`;
    case "pay_share":
      return `Pay ${act.amount} GLN of the platform's share to ${act.to}`;
    case "other":
      return `Call ${act.data.slice(0, 10)}… of the contract ${act.target}`;
  }
}

function set(parameter: string, value: string): string {
  const known = PARAMETERS[parameter];
  if (!known) return `Set ${parameter} to ${value}`;
  return `Set ${known[0]} to ${said(known[1], BigInt(value))}`;
}

function said(unit: Unit, value: bigint): string {
  switch (unit) {
    case "share":
      return percent(Number(value) / 10_000, 2);
    case "money":
      return `${exact(value)} GLN`;
    case "time":
      return span(Number(value) * 1000);
    case "count":
      return String(value);
  }
}

const STAGES: Record<string, [Tone, string]> = {
  pending: ["corn", "begins soon"],
  active: ["straw", "voting"],
  canceled: ["plain", "taken back"],
  defeated: ["poppy", "defeated"],
  succeeded: ["leaf", "passed"],
  queued: ["corn", "passed, waits"],
  expired: ["plain", "expired"],
  executed: ["leaf", "carried out"],
};

/** A stage in a word or two, and its colour. */
export function stage(name: string): [Tone, string] {
  return STAGES[name] ?? ["plain", name];
}

/** Why somebody cannot vote on it now; null if they can. */
export function hindrance(proposal: Proposal): string | null {
  if (proposal.voted) return "You have voted.";
  if (proposal.stage !== "active") return proposal.stage === "pending" ? "The vote has not begun." : "The vote has ended.";
  if (proposal.own_votes == null || proposal.own_votes === "0") return "You had no votes when it began.";
  return null;
}

/** Who votes with an account's tokens. */
export function voter(delegate: string | null | undefined, own: string): string {
  if (delegate == null) return "Nobody votes with your tokens yet.";
  if (delegate.toLowerCase() === own.toLowerCase()) return "You vote with your tokens yourself.";
  return `${short(delegate, 12)} votes with your tokens.`;
}
