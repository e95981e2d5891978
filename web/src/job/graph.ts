// The graph of a job: where its groups stand, and how each of their tasks is.
import type { AttemptView } from "../api/pending";
import type { GroupView } from "../api/views";
import type { Grain } from "../ui/Kernels";
import { readTask } from "./task";

export interface Edge {
  from: string;
  to: string;
}

export interface Place {
  name: string;
  column: number;
  row: number;
}

/** Where groups stand: each right of all that it reads, and near the middle of them. */
export function layout(names: string[], edges: Edge[]): Place[] {
  const columns = new Map(names.map((name) => [name, 0]));
  // As many rounds as there are groups settle every graph without a circle, and end with one.
  for (let round = 0; round < names.length; round++)
    for (const { from, to } of edges) {
      const behind = (columns.get(from) ?? 0) + 1;
      if (columns.has(to) && columns.has(from) && behind > (columns.get(to) ?? 0) && behind < names.length) columns.set(to, behind);
    }
  const rows = new Map<string, number>();
  const widest = Math.max(0, ...columns.values());
  for (let column = 0; column <= widest; column++) {
    const here = names.filter((name) => columns.get(name) === column);
    const middle = (name: string) => {
      const read = edges.filter((edge) => edge.to === name && rows.has(edge.from)).map((edge) => rows.get(edge.from) as number);
      return read.length ? read.reduce((sum, row) => sum + row, 0) / read.length : names.indexOf(name);
    };
    const sorted = here.map((name) => [name, middle(name)] as const).sort((a, b) => a[1] - b[1]);
    sorted.forEach(([name], index) => rows.set(name, index - (here.length - 1) / 2));
  }
  return names.map((name) => ({ name, column: columns.get(name) ?? 0, row: rows.get(name) ?? 0 }));
}

/** Which groups read which, by what each group says of itself. */
export function edgesOf(groups: GroupView[]): Edge[] {
  return groups.flatMap((group) =>
    (group.reads ?? []).flatMap((position) => {
      const from = groups[position];
      return from ? [{ from: from.name, to: group.name }] : [];
    }),
  );
}

/** The most tasks that are shown one by one. */
export const CELLS_MAX = 400;

/** How each task of a group stands, by its attempts; null if there are too many to show. */
export function cells(group: GroupView, attempts: AttemptView[]): Grain[] | null {
  if (group.tasks > CELLS_MAX) return null;
  const states: Grain[] = Array.from({ length: group.tasks }, () => "queued");
  const touched = new Set<number>();
  for (const attempt of attempts) {
    const { group: name, index } = readTask(attempt.task);
    if (name !== group.name || index >= states.length || states[index] === "done") continue;
    touched.add(index);
    states[index] = attempt.ended_at === null ? "running" : isDelivered(attempt.state) ? "done" : "failed";
  }
  if (group.done === group.tasks) return states.map(() => "done");
  // Results that were known need no attempt; which tasks they are of is not told.
  let known = group.done - states.filter((state) => state === "done").length;
  for (let index = 0; index < states.length && known > 0; index++)
    if (!touched.has(index)) {
      states[index] = "done";
      known--;
    }
  let unchecked = group.unchecked;
  for (let index = states.length - 1; index >= 0 && unchecked > 0 && known < 0; index--)
    if (states[index] === "done") {
      states[index] = "unchecked";
      unchecked--;
      known++;
    }
  return states;
}

const DELIVERED = new Set(["done", "delivered", "finished", "paid", "accepted", "unchecked"]);

/** Whether an attempt brought a result. */
export function isDelivered(state: string): boolean {
  return DELIVERED.has(state);
}
