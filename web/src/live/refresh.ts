// Asks again for what an event does not carry, but not more often than a person can read.

/** The least time between two questions for the same thing. */
export const PAUSE_MS = 1000;

/** Calls `ask` for a name at once, and then at most once in each pause, never losing the last call. */
export class Refresher {
  private waiting = new Map<string, { timer: ReturnType<typeof setTimeout>; again: boolean }>();

  constructor(private readonly ask: (name: string) => void) {}

  want(name: string): void {
    const waiting = this.waiting.get(name);
    if (waiting) {
      waiting.again = true;
      return;
    }
    this.ask(name);
    const timer = setTimeout(() => this.over(name), PAUSE_MS);
    this.waiting.set(name, { timer, again: false });
  }

  stop(): void {
    for (const { timer } of this.waiting.values()) clearTimeout(timer);
    this.waiting.clear();
  }

  private over(name: string): void {
    const waiting = this.waiting.get(name);
    this.waiting.delete(name);
    if (waiting?.again) this.want(name);
  }
}
