// A job that is being made. Templates put theirs here before the page for new jobs opens.
import type { Picked } from "./folder";

export interface Draft {
  source: string;
  name: string;
  files: Picked[];
  /** Where the job file comes from. */
  from: string | null;
  /** Whether paths in the job file begin with the name under which the files are sent. */
  rooted: boolean;
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
