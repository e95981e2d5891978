// What a live event changes of what is already known. Pure: old value and event in, new value out.
import type { AttemptChange, AttemptsView, AttemptView, GroupView, JobSummary, JobView, LiveEvent, Page, WorkerState } from "../api/views";
import { nameTask } from "../job/task";

/** Reads an event; null if it is none that this page knows. A newer hub may tell of more. */
export function readLive(text: string): LiveEvent | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || !("event" in value)) return null;
    return KNOWN.has(String(value.event)) ? (value as LiveEvent) : null;
  } catch {
    return null;
  }
}

const KNOWN = new Set(["watching", "job", "attempts", "failure", "worker", "prices", "status", "missed"]);

const ENDED = new Set(["done", "cancelled", "failed"]);

/** Whether nothing more happens to a job. */
export function hasEnded(job: { state: string }): boolean {
  return ENDED.has(job.state);
}

/** Whether an event is older than what a question brought meanwhile. */
function isOlder(event: JobSummary, known: JobSummary): boolean {
  if (hasEnded(known) !== hasEnded(event)) return hasEnded(known);
  return event.done < known.done;
}

/** A job with what the event says of it; what only the whole view has stays. */
export function mergeJob<T extends JobSummary>(known: T, event: JobSummary): T {
  if (known.id !== event.id || isOlder(event, known)) return known;
  return { ...known, ...event };
}

/** Whether a list that shows jobs of some state shows this one. */
export function isListed(filter: string, job: JobSummary): boolean {
  return !filter || filter === job.state;
}

/** Pages of jobs with what the event says: changed where it stands, first where it is new, gone where it does not belong. */
export function mergePages(pages: Page<JobSummary>[], filter: string, event: JobSummary): Page<JobSummary>[] {
  const listed = isListed(filter, event);
  let found = false;
  const merged = pages.map((page) => {
    if (!page.items.some((job) => job.id === event.id)) return page;
    found = true;
    const items = page.items.map((job) => mergeJob(job, event)).filter((job) => job.id !== event.id || listed);
    return { ...page, items };
  });
  const first = merged[0];
  if (found || !listed || !first) return merged;
  return [{ ...first, items: [event, ...first.items] }, ...merged.slice(1)];
}

/** A list of workers in which one has changed its state. */
export function mergeWorker<T extends { id: number; state: WorkerState }>(
  page: Page<T>,
  event: { id: number; state: WorkerState },
): Page<T> {
  if (!page.items.some((worker) => worker.id === event.id && worker.state !== event.state)) return page;
  const items = page.items.map((worker) => (worker.id === event.id ? { ...worker, state: event.state } : worker));
  return { ...page, items };
}

/** The most failures that a view lists, as the hub itself bounds them. */
const FAILURES_MAX = 64;

/** A job with one more failure. */
export function mergeFailure(known: JobView, failure: JobView["failures"][number]): JobView {
  if (known.failures.some((one) => one.attempt === failure.attempt)) return known;
  return { ...known, failures: [...known.failures, failure].slice(-FAILURES_MAX) };
}

/** The most attempts that are kept for a chart. */
const ATTEMPTS_MAX = 10_000;

/** Attempts with those that started or ended meanwhile. */
export function mergeAttempts(known: AttemptsView, groups: GroupView[], changes: AttemptChange[]): AttemptsView {
  const places = new Map(known.items.map((attempt, place) => [attempt.attempt, place]));
  const items = [...known.items];
  for (const change of changes) {
    const place = places.get(change.attempt);
    const before = place === undefined ? undefined : items[place];
    // One that is known to have ended does not begin again.
    if (before && before.ended_at !== null && change.ended_at === null) continue;
    const next = attemptOf(change, before, groups[change.group]);
    if (place === undefined) places.set(change.attempt, items.push(next) - 1);
    else items[place] = next;
  }
  const beyond = Math.max(0, items.length - ATTEMPTS_MAX);
  return { ...known, items: beyond > 0 ? items.slice(beyond) : items, not_listed: known.not_listed + beyond };
}

function attemptOf(change: AttemptChange, before: AttemptView | undefined, group: GroupView | undefined): AttemptView {
  const task = before?.task ?? (group ? nameTask(group, change.index) : `task ${change.group}[${change.index}]`);
  const worker_name = change.worker_name ?? before?.worker_name ?? `worker ${change.worker}`;
  return { ...change, task, worker_name, second: before?.second ?? false, why: change.why || (before?.why ?? "") };
}
