// What machines brought over time, with the electricity taken off.
import type { EarningsView } from "../api/views";
import { units } from "../format/amount";

export interface Bin {
  at: number;
  earned: bigint;
  /** What the electricity cost; zero where that is not known. */
  energy: bigint;
  tasks: number;
}

export interface Earned {
  bins: Bin[];
  earned: bigint;
  energy: bigint;
  tasks: number;
  /** Whether the cost of electricity is known of every machine. */
  metered: boolean;
}

const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
const HOUR_MICROS = 3_600_000_000n;

/** How long each bar lasts: hours of a few days, days of more. */
export function binMs(days: number): number {
  return days <= 3 ? HOUR_MS : DAY_MS;
}

/** What one machine brought. `energyPerHour` is what an hour of its device time costs in electricity, if that is known. */
export function earned(view: Pick<EarningsView, "items">, energyPerHour: string | null, width: number): Earned {
  const bins = new Map<number, Bin>();
  for (const point of view.items) {
    const at = Math.floor(point.hour / width) * width;
    const bin = bins.get(at) ?? { at, earned: 0n, energy: 0n, tasks: 0 };
    const energy = (units(energyPerHour) * BigInt(point.ran_micros)) / HOUR_MICROS;
    bins.set(at, { at, earned: bin.earned + units(point.net), energy: bin.energy + energy, tasks: bin.tasks + point.tasks });
  }
  return summed([...bins.values()], energyPerHour !== null);
}

/** What several machines brought together. */
export function together(all: Earned[]): Earned {
  const bins = new Map<number, Bin>();
  for (const bin of all.flatMap((one) => one.bins)) {
    const known = bins.get(bin.at) ?? { at: bin.at, earned: 0n, energy: 0n, tasks: 0 };
    bins.set(bin.at, { at: bin.at, earned: known.earned + bin.earned, energy: known.energy + bin.energy, tasks: known.tasks + bin.tasks });
  }
  return summed([...bins.values()], all.every((one) => one.metered));
}

/** The same with a bar for every hour or day of the time that is looked at, those without earnings too. */
export function filled(found: Earned, from: number, to: number, width: number): Earned {
  if (found.bins.length === 0) return found;
  const known = new Map(found.bins.map((bin) => [bin.at, bin]));
  const bins: Bin[] = [];
  for (let at = Math.floor(from / width) * width; at <= to; at += width) bins.push(known.get(at) ?? { at, earned: 0n, energy: 0n, tasks: 0 });
  return { ...found, bins };
}

function summed(bins: Bin[], metered: boolean): Earned {
  const add = (of: (bin: Bin) => bigint) => bins.reduce((sum, bin) => sum + of(bin), 0n);
  return {
    bins: bins.sort((a, b) => a.at - b.at),
    earned: add((bin) => bin.earned),
    energy: add((bin) => bin.energy),
    tasks: bins.reduce((sum, bin) => sum + bin.tasks, 0),
    metered,
  };
}
