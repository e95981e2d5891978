// A job that is being made. Templates put theirs here before the page for new jobs opens.
import type { Picked } from "./folder";

export interface Draft {
  source: string;
  name: string;
  files: Picked[];
  from: string | null;
}

let draft: Draft | null = null;

export function setDraft(next: Draft): void {
  draft = next;
}

/** Takes the draft; it is there once. */
export function takeDraft(): Draft | null {
  const taken = draft;
  draft = null;
  return taken;
}
