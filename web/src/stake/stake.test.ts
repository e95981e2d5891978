import { describe, expect, it } from "vitest";
import type { NodeReward, Proposal } from "../api/views";
import { wrongAmount } from "./Doing";
import { deed, hindrance, stage, voter } from "./deeds";
import { standing } from "./rewards";

const OWN = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const OTHER = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";

describe("what a proposal would do", () => {
  it("is said with the unit of each number", () => {
    const set = (parameter: string, value: string) => deed({ kind: "set", parameter, value });
    expect(set("platformShareBps", "1250")).toBe("Set the platform's share to 12.50 %");
    expect(set("minimumStake", "20000000000")).toBe("Set the least stake of a provider to 20 GLN");
    expect(set("unbondingDelay", "604800")).toBe("Set the time that taking stake out lasts to 7 d");
    expect(set("committeeSize", "7")).toBe("Set the auditors of a committee to 7");
    expect(set("somethingNew", "5")).toBe("Set somethingNew to 5");
  });

  it("names who is paid, and calls that are none of ours", () => {
    expect(deed({ kind: "pay_tokens", to: OTHER, amount: "5" })).toContain(`5 GLN of the treasury's tokens to ${OTHER}`);
    expect(deed({ kind: "other", target: OTHER, data: "0xa9059cbb0000" })).toBe(`Call 0xa9059cbb… of the contract ${OTHER}`);
  });
});

describe("a vote", () => {
  const proposal = (change: Partial<Proposal>) => ({ stage: "active", voted: false, own_votes: "12", ...change }) as Proposal;

  it("is for those who had votes when it began, once", () => {
    expect(hindrance(proposal({}))).toBeNull();
    expect(hindrance(proposal({ own_votes: "0" }))).toContain("no votes");
    expect(hindrance(proposal({ own_votes: null }))).toContain("no votes");
    expect(hindrance(proposal({ voted: true }))).toContain("have voted");
    expect(hindrance(proposal({ stage: "pending" }))).toContain("not begun");
    expect(hindrance(proposal({ stage: "defeated" }))).toContain("ended");
  });

  it("says who votes with one's tokens, and where it stands", () => {
    expect(voter(null, OWN)).toContain("Nobody");
    expect(voter(OWN.toLowerCase(), OWN)).toContain("yourself");
    expect(voter(OTHER, OWN)).toContain("votes with your tokens");
    expect(stage("queued")[1]).toBe("passed, waits");
    expect(stage("unheard-of")).toEqual(["plain", "unheard-of"]);
  });
});

describe("a share of the node rewards", () => {
  const line = (change: Partial<NodeReward>) => ({ epoch: 3, stage: "final", total: "9", share: "1", claimed: false, due: true, final_at: 7200, right: true, ...change }) as NodeReward;

  it("says whether it can be claimed, and if not, why", () => {
    expect(standing(line({}), 0)).toBe("Can be claimed");
    expect(standing(line({ stage: "published", due: false }), 0)).toBe("Can be claimed in 2 h");
    expect(standing(line({ claimed: true, due: false }), 0)).toBe("Claimed");
    expect(standing(line({ share: "0", due: false }), 0)).toContain("No paid work");
    expect(standing(line({ right: false }), 0)).toContain("can be contested");
    expect(standing(line({ stage: "contested" }), 0)).toContain("court decides");
  });
});

describe("an amount", () => {
  it("is a number that is there", () => {
    expect(wrongAmount("", "5")).toBeNull();
    expect(wrongAmount("2.5", "5")).toBeNull();
    expect(wrongAmount("many", "5")).toContain("such as 2.5");
    expect(wrongAmount("5.1", "5")).toContain("more than the 5 GLN");
  });
});
