// What a quote means for who reads it: words for ranges, for how sure they are, and for what binds until when.
import type { DeskChoice, DeskQuote } from "../api/views";
import { shown, units } from "../format/amount";
import { span } from "../format/time";

const SURE: Record<DeskChoice["sure"], string> = {
  unknown: "not known",
  guess: "a guess",
  rough: "rough",
  fair: "fair",
  good: "good",
};

/** How sure a choice is, in a word. */
export function sureWord(choice: DeskChoice): string {
  return SURE[choice.sure];
}

/** Between what eight of ten such jobs cost; nothing where that is not known. */
export function priceRange(choice: DeskChoice): string | null {
  if (!choice.price) return null;
  const [low, high] = [shown(choice.price.low), shown(choice.price.high)];
  return low === high ? `eight of ten cost about ${low} GLN` : `eight of ten cost ${low} to ${high} GLN`;
}

/** When it should be done, and between what eight of ten such jobs end. */
export function finish(choice: DeskChoice): string {
  if (!choice.finish_ms) return "nobody knows yet how long it takes";
  const { low, expected, high } = choice.finish_ms;
  const [from, to] = [span(low), span(high)];
  return from === to ? `done in about ${span(expected)}` : `done in about ${span(expected)}, eight of ten in ${from} to ${to}`;
}

/** What is set aside if the job is ordered by a choice: its binding price, or else the job's own cap. */
export function reserved(quoted: DeskQuote, choice: DeskChoice | undefined): bigint {
  return units(choice?.binding?.price ?? quoted.cap);
}

/** Whether a choice had a binding price that has run out. */
export function hasEnded(choice: DeskChoice | undefined, now: number): boolean {
  return choice?.binding != null && choice.binding.until <= now;
}
