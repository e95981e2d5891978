// What verdicts mean.
import type { Verdict } from "../api/views";

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
