// Values as the bytes that hubs hash and sign: those of the postcard format. Numbers are written in sevens of bits, lists and
// texts after their length, fields one after the other without their names. What has another shape is refused, not guessed.

/** Writes one value. */
export type Put = (out: number[], value: unknown) => void;

/** A value that does not have the shape that it should have. */
export class Unfit extends Error {}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 60) ?? "nothing";
}

function varint(out: number[], value: bigint): void {
  let rest = value;
  for (; rest > 0x7fn; rest >>= 7n) out.push(Number(rest & 0x7fn) | 0x80);
  out.push(Number(rest));
}

/** A whole number of so many bits; one that is too large for JavaScript comes as a text of its digits. */
export function integer(bits: number): Put {
  const end = 1n << BigInt(bits);
  return (out, value) => {
    const whole = Number.isSafeInteger(value) || (typeof value === "string" && /^\d{1,39}$/.test(value));
    const found = whole ? BigInt(value as number | string) : -1n;
    if (found < 0n || found >= end) throw new Unfit(`${show(value)} is no number of ${bits} bits`);
    if (bits === 8) out.push(Number(found));
    else varint(out, found);
  };
}

/** A number that people read in another way. */
export function readAs(what: string, read: (text: string) => bigint | null): Put {
  return (out, value) => {
    const found = typeof value === "string" ? read(value) : null;
    if (found === null) throw new Unfit(`${show(value)} is no ${what}`);
    varint(out, found);
  };
}

export const bool: Put = (out, value) => {
  if (typeof value !== "boolean") throw new Unfit(`${show(value)} is neither true nor false`);
  out.push(value ? 1 : 0);
};

export const text: Put = (out, value) => {
  if (typeof value !== "string") throw new Unfit(`${show(value)} is no text`);
  const bytes = new TextEncoder().encode(value);
  varint(out, BigInt(bytes.length));
  for (const byte of bytes) out.push(byte);
};

/** Bytes in hexadecimal digits: so many, or after their number if there may be any. */
export function hex(length: number | null, prefix = ""): Put {
  return (out, value) => {
    const digits = typeof value === "string" && value.startsWith(prefix) ? value.slice(prefix.length) : null;
    if (digits === null || !/^([0-9a-f]{2})*$/i.test(digits) || (length !== null && digits.length !== length * 2)) throw new Unfit(`${show(value)} is not ${length === null ? "bytes" : `${length} bytes`}`);
    if (length === null) varint(out, BigInt(digits.length / 2));
    for (let at = 0; at < digits.length; at += 2) out.push(Number.parseInt(digits.slice(at, at + 2), 16));
  };
}

export function option(put: Put): Put {
  return (out, value) => {
    out.push(value == null ? 0 : 1);
    if (value != null) put(out, value);
  };
}

export function list(put: Put): Put {
  return (out, value) => {
    if (!Array.isArray(value)) throw new Unfit(`${show(value)} is no list`);
    varint(out, BigInt(value.length));
    for (const one of value) put(out, one);
  };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Unfit(`${show(value)} has no fields`);
  return value as Record<string, unknown>;
}

/** Fields in their order. One that is not among them is refused: nobody has signed it. */
export function struct(fields: Record<string, Put>): Put {
  return (out, value) => {
    const table = fieldsOf(value);
    for (const name of Object.keys(table)) if (!Object.hasOwn(fields, name)) throw new Unfit(`no receipt has “${name}”`);
    for (const [name, put] of Object.entries(fields)) put(out, table[name]);
  };
}

/** One of several, by its place among them; some carry a value. */
export function variant(...kinds: (string | [string, Put])[]): Put {
  return (out, value) => {
    const entries = typeof value === "string" ? [] : Object.entries(fieldsOf(value));
    const name = typeof value === "string" ? value : entries.length === 1 ? entries[0]?.[0] : undefined;
    const at = kinds.findIndex((kind) => (typeof kind === "string" ? kind === value : entries.length === 1 && kind[0] === name));
    const kind = kinds[at];
    if (kind === undefined) throw new Unfit(`${show(value)} is none of ${kinds.map((one) => (typeof one === "string" ? one : one[0])).join(", ")}`);
    varint(out, BigInt(at));
    if (typeof kind !== "string") kind[1](out, entries[0]?.[1]);
  };
}
