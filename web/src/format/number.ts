// Counts, shares and sizes.

/** A count with separators, in short form from a hundred thousand on. */
export function count(value: number): string {
  if (Math.abs(value) < 100_000) return Math.round(value).toLocaleString("en");
  return Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

/** `1 task`, `2 tasks`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A share from 0 to 1 as a percentage. */
export function percent(share: number, decimals = 0): string {
  if (!Number.isFinite(share)) return "unknown";
  const value = share * 100;
  if (value > 0 && value < 10 ** -decimals / 2) return `under ${10 ** -decimals} %`;
  return `${value.toFixed(decimals)} %`;
}

/** Something of a whole that is shown rounded, but never as all of it or nothing of it when it is not. */
export function progress(part: number, whole: number): string {
  if (whole <= 0) return "0 %";
  const rounded = Math.round((part / whole) * 100);
  if (part > 0 && rounded === 0) return "under 1 %";
  if (part < whole && rounded === 100) return "99 %";
  return `${rounded} %`;
}

const SIZES: [number, string][] = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
];

/** A number of bytes. */
export function bytes(value: number): string {
  const found = SIZES.find(([size]) => value >= size);
  if (!found) return `${value} B`;
  const scaled = value / found[0];
  return `${scaled < 10 ? scaled.toFixed(1).replace(/\.0$/, "") : Math.round(scaled)} ${found[1]}`;
}

/** Reads a size as job files and offers write it, such as `24GiB`; null if it is none. */
export function parseBytes(text: string): number | null {
  const match = /^(\d+)\s*(B|KiB|MiB|GiB|TiB)?$/.exec(text.trim());
  if (!match) return null;
  const size = SIZES.find(([, name]) => name === match[2])?.[0] ?? 1;
  return Number(match[1]) * size;
}

/** A size that the API wrote as text, for people. */
export function size(text: string): string {
  const value = parseBytes(text);
  return value === null ? text : bytes(value);
}

/** The first digits of a long name such as a hash, enough to tell it from others. */
export function short(id: string, digits = 8): string {
  const bare = id.startsWith("0x") ? id.slice(2) : id;
  const head = id.startsWith("0x") ? "0x" : "";
  return bare.length <= digits + 4 ? id : `${head}${bare.slice(0, digits)}…${bare.slice(-4)}`;
}
