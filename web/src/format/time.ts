// Moments and spans, in words with units. The API has milliseconds since 1970, and microseconds where time is metered.

const SPANS: [number, string][] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
];

/** A span such as `1 h 12 min`; the two largest units that count. */
export function span(ms: number): string {
  if (!Number.isFinite(ms)) return "unknown";
  if (ms < 1) return ms <= 0 ? "0 s" : "under 1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${trim((ms / 1000).toFixed(1))} s`;
  const first = SPANS.findIndex(([size]) => ms >= size);
  const [size, name] = SPANS[first] as [number, string];
  const whole = Math.floor(ms / size);
  const next = SPANS[first + 1];
  if (!next) return `${Math.round(ms / size)} ${name}`;
  const rest = Math.floor((ms - whole * size) / next[0]);
  return rest > 0 ? `${whole} ${name} ${rest} ${next[1]}` : `${whole} ${name}`;
}

/** A span of microseconds. */
export function spanMicros(micros: number): string {
  return span(micros / 1000);
}

/** How long ago, or how long until: `3 min ago`, `in 2 h`. */
export function ago(at: number, now: number): string {
  const past = now - at;
  if (Math.abs(past) < 5000) return "just now";
  return past > 0 ? `${single(past)} ago` : `in ${single(-past)}`;
}

function single(ms: number): string {
  const [size, name] = SPANS.find(([size]) => ms >= size) ?? [1000, "s"];
  return `${Math.floor(ms / size)} ${name}`;
}

/** The time of day with seconds, in the reader's time zone. */
export function clock(at: number): string {
  return new Date(at).toLocaleTimeString("en-GB");
}

/** The date and time of day. */
export function moment(at: number): string {
  const date = new Date(at);
  return `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" })}, ${date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}`;
}

function trim(text: string): string {
  return text.replace(/\.0$/, "");
}
