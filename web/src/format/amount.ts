// Money. The API writes amounts as decimal GLN in text, with at most nine decimals; here they are whole units.

/** Units in one GLN. */
export const UNITS_PER_GLN = 1_000_000_000n;

const WRITTEN = /^(\d+)(?:\.(\d{1,9}))?(?:\s*GLN)?$/;

/** Reads an amount as people and the API write it; null if it is none. */
export function parseAmount(text: string): bigint | null {
  const match = WRITTEN.exec(text.trim());
  if (!match) return null;
  return BigInt(match[1] ?? "0") * UNITS_PER_GLN + BigInt((match[2] ?? "").padEnd(9, "0"));
}

/** Units of an amount that came from the API; nothing counts as none. */
export function units(amount: string | null | undefined): bigint {
  return amount == null ? 0n : (parseAmount(amount) ?? 0n);
}

/** An amount with every digit it has, as the API takes it back. */
export function exact(value: bigint): string {
  const sign = value < 0n ? "-" : "";
  const magnitude = value < 0n ? -value : value;
  const decimals = (magnitude % UNITS_PER_GLN).toString().padStart(9, "0").replace(/0+$/, "");
  return `${sign}${magnitude / UNITS_PER_GLN}${decimals ? `.${decimals}` : ""}`;
}

/** GLN as a number, for charts and shares. Never for sums. */
export function gln(value: bigint | string | null | undefined): number {
  return Number(typeof value === "bigint" ? value : units(value)) / Number(UNITS_PER_GLN);
}

/** The part of `whole` that `part` is, from 0 to 1. */
export function share(part: bigint, whole: bigint): number {
  if (whole <= 0n) return 0;
  return Math.min(1, Math.max(0, Number((part * 1_000_000n) / whole) / 1_000_000));
}

/** How an amount is shown where room is scarce: four digits that count, never fewer than two decimals. */
export function shown(amount: bigint | string | null | undefined): string {
  const value = typeof amount === "bigint" ? amount : units(amount);
  const number = gln(value);
  const size = Math.abs(number);
  if (value === 0n) return "0";
  if (size >= 1) return number.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const leading = Math.floor(Math.log10(size));
  const decimals = Math.min(9, Math.max(2, 2 - leading));
  return number.toFixed(decimals).replace(/(\.\d\d\d*?)0+$/, "$1");
}
