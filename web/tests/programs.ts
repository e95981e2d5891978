// Programs that are too small to be kept as files.

function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): number[] {
  return value >= -64 && value < 64 ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)];
}

function section(id: number, ...items: number[][]): number[] {
  const body = [...unsigned(items.length), ...items.flat()];
  return [id, ...unsigned(body.length), ...body];
}

const named = (text: string) => [...unsigned(Buffer.byteLength(text)), ...Buffer.from(text)];
const little = (value: number) => [0, 8, 16, 24].map((by) => (value >>> by) & 0xff);

/** A WASI program that writes one text to its log and another as its result. */
export function speaker(log: string, result: string): Uint8Array {
  const [I32, TEXTS] = [0x7f, 64];
  const [first, second] = [Buffer.from(log), Buffer.from(result)];
  // Two places and lengths, each of a text, as `fd_write` takes them.
  const vectors = [...little(TEXTS), ...little(first.length), ...little(TEXTS + first.length), ...little(second.length)];
  const write = (to: number, vector: number) => [0x41, to, 0x41, vector, 0x41, 1, 0x41, 32, 0x10, 0, 0x1a];
  const code = [0, ...write(2, 0), ...write(1, 8), 0x0b];
  const data = (at: number, bytes: number[]) => [0, 0x41, ...signed(at), 0x0b, ...unsigned(bytes.length), ...bytes];
  return Uint8Array.from([
    ...Buffer.from("\0asm"),
    ...little(1),
    ...section(1, [0x60, 4, I32, I32, I32, I32, 1, I32], [0x60, 0, 0]),
    ...section(2, [...named("wasi_snapshot_preview1"), ...named("fd_write"), 0, 0]),
    ...section(3, [1]),
    ...section(5, [0, 1]),
    ...section(7, [...named("memory"), 2, 0], [...named("_start"), 0, 1]),
    ...section(10, [...unsigned(code.length), ...code]),
    ...section(11, data(0, vectors), data(TEXTS, [...first, ...second])),
  ]);
}
