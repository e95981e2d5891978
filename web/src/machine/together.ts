import type { Earnings as Earned } from "../api/pending";
import { exact, units } from "../format/amount";

/** Earnings of several machines as those of one. */
export function together(all: Earned[]): Earned {
  const points = new Map<number, { earned: bigint; energy: bigint; tasks: number }>();
  for (const point of all.flatMap((data) => data.items)) {
    const known = points.get(point.at) ?? { earned: 0n, energy: 0n, tasks: 0 };
    points.set(point.at, { earned: known.earned + units(point.earned), energy: known.energy + units(point.energy), tasks: known.tasks + point.tasks });
  }
  const sum = (of: (data: Earned) => string) => exact(all.reduce((total, data) => total + units(of(data)), 0n));
  const items = [...points].sort((a, b) => a[0] - b[0]).map(([at, point]) => ({ at, earned: exact(point.earned), energy: exact(point.energy), tasks: point.tasks }));
  return { items, earned: sum((data) => data.earned), energy: sum((data) => data.energy) };
}
