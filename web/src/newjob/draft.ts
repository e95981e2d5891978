// A job that is being made, kept for as long as the browser has the page open: whoever looks at something else meanwhile finds it
// again. Templates put theirs here before the page for new jobs opens.
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

export function setDraft(next: Draft | null): void {
  draft = next;
}

export function currentDraft(): Draft | null {
  return draft;
}
