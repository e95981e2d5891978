// The graph of a job: where its groups stand, and how each of their tasks is.
import type { AttemptView, GroupView } from "../api/views";
import type { Grain } from "../ui/Kernels";

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
    group.reads.flatMap((position) => {
      const from = groups[position];
      return from ? [{ from: from.name, to: group.name }] : [];
    }),
  );
}

/** The most tasks that are shown one by one. */
export const CELLS_MAX = 400;

/** How each task of the group at a position stands, by its attempts; null if there are too many to show. */
export function cells(group: GroupView, at: number, attempts: AttemptView[]): Grain[] | null {
  if (group.tasks > CELLS_MAX) return null;
  const states: Grain[] = Array.from({ length: group.tasks }, () => "queued");
  const touched = new Set<number>();
  for (const attempt of attempts) {
    const { index } = attempt;
    if (attempt.group !== at || index >= states.length || states[index] === "done" || attempt.state === "cancelled") continue;
    touched.add(index);
    states[index] = attempt.state;
  }
  if (group.done === group.tasks) return states.map(() => "done");
  // Results that were known need no attempt; which tasks they are of is not told.
  let known = group.done - states.filter((state) => state === "done").length;
  for (let index = 0; index < states.length && known > 0; index++)
    if (!touched.has(index)) {
      states[index] = "done";
      known--;
    }
  // Delivered results wait for their check; which ones is not told, and the newest are likely.
  let unchecked = Math.min(group.unchecked, -Math.min(0, known));
  for (let index = states.length - 1; index >= 0 && unchecked > 0; index--)
    if (states[index] === "done") {
      states[index] = "unchecked";
      unchecked--;
    }
  return states;
}

/** Tasks of a group that cannot be placed yet, because others that they read are not done. */
export function blocked(group: Pick<GroupView, "tasks" | "done" | "running" | "unchecked" | "queued" | "reads">): number {
  return group.reads.length > 0 ? Math.max(0, group.tasks - group.done - group.running - group.unchecked - group.queued) : 0;
}
