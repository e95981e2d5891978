// Tasks as grains of an ear: what is done, checked, running and waiting, at a glance.

export interface Counts {
  tasks: number;
  done: number;
  unchecked?: number;
  running: number;
  failed?: number;
}

export type Grain = "done" | "unchecked" | "running" | "failed" | "queued";

/** How many grains stand for how many tasks: each kind that there is has at least one grain. */
export function grains(counts: Counts, most: number): Grain[] {
  const total = Math.min(most, Math.max(1, counts.tasks));
  const kinds: [Grain, number][] = [
    ["done", counts.done],
    ["unchecked", counts.unchecked ?? 0],
    ["running", counts.running],
    ["failed", counts.failed ?? 0],
  ];
  const shown = new Array<Grain>();
  for (const [kind, count] of kinds) {
    const wanted = counts.tasks > most ? Math.round((count / counts.tasks) * total) : count;
    const fits = Math.min(Math.max(wanted, count > 0 ? 1 : 0), total - shown.length);
    for (let grain = 0; grain < fits; grain++) shown.push(kind);
  }
  // What is not done must not look done for want of room.
  const ripe = shown.length === total && !shown.some((grain) => grain !== "done");
  if (ripe && counts.done < counts.tasks) shown[total - 1] = counts.running > 0 ? "running" : "queued";
  while (shown.length < total) shown.push("queued");
  return shown;
}

export function Kernels({ counts, columns, rows = 1, label }: { counts: Counts; columns: number; rows?: number; label: string }) {
  const shown = grains(counts, columns * rows);
  const step = 10;
  return (
    <svg className="kernels" viewBox={`0 0 ${columns * step} ${Math.ceil(shown.length / columns) * step}`} role="img" aria-label={label}>
      {shown.map((kind, index) => {
        const x = (index % columns) * step + step / 2;
        const y = Math.floor(index / columns) * step + step / 2;
        return (
          <rect key={index} className={kind} x={x - 2.6} y={y - 2.6} width="5.2" height="5.2" rx="1.3" transform={`rotate(45 ${x} ${y})`} />
        );
      })}
    </svg>
  );
}
