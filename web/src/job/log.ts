// The log of a job arrives as lines of JSON, cut anywhere.
import type { LogView } from "../api/views";

/** The most lines that the page keeps. */
export const LINES_MAX = 20_000;

/** Puts pieces of a stream together to lines. */
export class LogReader {
  private rest = "";
  /** Lines that came so far, to go on after them. */
  count = 0;

  take(piece: string): LogView[] {
    const parts = (this.rest + piece).split("\n");
    this.rest = parts.pop() ?? "";
    const lines: LogView[] = [];
    for (const part of parts) {
      if (!part.trim()) continue;
      this.count++;
      const line = readLine(part);
      if (line) lines.push(line);
    }
    return lines;
  }

  /** After a break the unfinished line comes again as a whole. */
  broken(): void {
    this.rest = "";
  }
}

function readLine(text: string): LogView | null {
  try {
    const value = JSON.parse(text) as LogView;
    return typeof value.text === "string" ? value : null;
  } catch {
    return null;
  }
}

/** The lines that are kept: the newest. */
export function keep(lines: LogView[], more: LogView[]): LogView[] {
  if (more.length === 0) return lines;
  const all = lines.concat(more);
  return all.length > LINES_MAX ? all.slice(-LINES_MAX) : all;
}
