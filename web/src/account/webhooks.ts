// What is told to a webhook, and how that went, in words.
import type { DeliveryView, JobEvent } from "../api/views";
import { counted } from "../format/number";
import type { Tone } from "../ui/words";

export const EVENTS: readonly (readonly [JobEvent, string])[] = [
  ["job.submitted", "A job is submitted"],
  ["job.done", "A job is done"],
  ["job.failed", "A job has failed"],
  ["job.cancelled", "A job is cancelled"],
];

/** What is wrong with an address; null if nothing is that could be seen from here. */
export function wrongAddress(text: string): string | null {
  if (!URL.canParse(text)) return "Write a whole address, such as https://example.org/gleaner";
  const url = new URL(text);
  if (url.protocol !== "https:") return "Requests are sent over https only";
  return url.username || url.password ? "An address must not carry a password" : null;
}

/** What a webhook is told. */
export function eventWords(events: readonly JobEvent[]): string {
  if (EVENTS.every(([event]) => events.includes(event))) return "everything";
  return events.map((event) => event.replace(/^job\./, "")).join(", ") || "nothing";
}

const STATES: Record<DeliveryView["state"], [Tone, string]> = {
  waiting: ["corn", "waiting"],
  delivered: ["leaf", "delivered"],
  given_up: ["poppy", "given up"],
};

export function deliveryState(state: DeliveryView["state"]): [Tone, string] {
  return STATES[state];
}

/** How sending it went so far. */
export function deliveryWords({ tries, status, error, state }: Pick<DeliveryView, "tries" | "status" | "error" | "state">): string {
  if (tries === 0) return "not tried yet";
  const answer = state === "delivered" ? `answered ${status ?? "nothing"}` : (error ?? (status === null ? "no answer" : `answered ${status}`));
  return `${counted(tries, "try", "tries")}: ${answer}`;
}
