// Contested results and cases before the court, in words.
import type { CaseView, ContestView } from "../api/views";
import { count, counted } from "../format/number";
import type { Tone } from "../ui/words";

/** Where a case stands. */
export function stageWords(stage: CaseView["stage"]): { tone: Tone; word: string; text: string } {
  switch (stage.stage) {
    case "waiting":
      return { tone: "corn", word: "to be accused", text: "The accusation waits to be brought to the chain." };
    case "open":
      return stage.seats === 0
        ? { tone: "corn", word: "open", text: "A committee is being drawn." }
        : { tone: "corn", word: "open", text: `${count(stage.voted)} of ${counted(stage.seats, "seat")} of the committee voted so far.` };
    case "slashed":
      return { tone: "poppy", word: "guilty", text: "The committee found it wrong, and part of its stake is gone." };
    case "acquitted":
      return { tone: "leaf", word: "innocent", text: "The committee did not find it wrong, and nothing was taken." };
    case "undecided":
      return { tone: "plain", word: "no verdict", text: "There was no verdict in time, and nothing was taken." };
    case "dropped":
      return { tone: "plain", word: "dropped", text: `It could not be brought before the court: ${stage.reason}.` };
  }
}

type Side = ContestView["answers"][number]["side"];

/** Whom an answer agrees with. */
export function sideWords(side: Side): string {
  if (side === "claim") return "the same as was delivered";
  if (side === "alone") return "something that nobody else has";
  return `answer ${side.rival}`;
}

/** How a poll went: the claim's votes first, then those of the other answers. */
export function pollWords(votes: number[]): string {
  const [claim = 0, ...rivals] = votes;
  return [`${count(claim)} for what was delivered`, ...rivals.map((found, at) => `${count(found)} for answer ${at + 1}`)].join(", ");
}
