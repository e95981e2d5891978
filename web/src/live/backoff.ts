// How long to wait before the next try: longer each time, and not all pages at the same moment.

export const FIRST_MS = 500;
export const LONGEST_MS = 15_000;

/** The wait after so many failed tries in a row, by chance between half and all of its length. */
export function backoff(failures: number, chance: number): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 16));
  return Math.round(longest / 2 + (longest / 2) * chance);
}
