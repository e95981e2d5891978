// One WebSocket to the hub for as long as the page is open. It comes back by itself, and says how it stands.
import { backoff } from "./backoff";

/** How the connection stands. `retryAt` is when the next try begins. */
export type Standing = { is: "connecting" } | { is: "open" } | { is: "waiting"; retryAt: number } | { is: "closed" };

export interface Wires {
  address: () => string;
  open: (address: string) => WebSocket;
  now: () => number;
  chance: () => number;
}

export interface Heard {
  /** A message arrived. */
  message: (text: string) => void;
  /** The connection is open; `again` if it was before. What happened in between was missed. */
  opened: (again: boolean) => void;
}

export class LiveSocket {
  private standing: Standing = { is: "closed" };
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private failures = 0;
  private wasOpen = false;
  private watchers = new Set<() => void>();
  private topics = new Map<string, number>();
  private told = "";

  constructor(
    private readonly wires: Wires,
    private readonly heard: Heard,
  ) {}

  /** Begins, or begins anew: after signing in or out, other things may be seen. */
  start(): void {
    this.drop();
    this.failures = 0;
    this.connect();
  }

  /** Ends for good. */
  stop(): void {
    this.drop();
    this.stand({ is: "closed" });
  }

  /** Tries at once if it waits for its next try. */
  hurry(): void {
    if (this.standing.is === "waiting") this.connect();
  }

  /** Asks the hub to tell of something, such as `job:7`, until the returned function is called. */
  follow(topic: string): () => void {
    this.topics.set(topic, (this.topics.get(topic) ?? 0) + 1);
    this.tell();
    return () => {
      const others = (this.topics.get(topic) ?? 1) - 1;
      if (others > 0) this.topics.set(topic, others);
      else this.topics.delete(topic);
      this.tell();
    };
  }

  /** Says what is followed, once all that changes at the same time has changed. */
  private tell(): void {
    queueMicrotask(() => {
      if (this.standing.is !== "open") return;
      const text = JSON.stringify({ watch: [...this.topics.keys()].sort() });
      if (text === this.told) return;
      this.told = text;
      this.socket?.send(text);
    });
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  readonly stands = (): Standing => this.standing;

  private connect(): void {
    clearTimeout(this.timer);
    this.stand({ is: "connecting" });
    const socket = this.wires.open(this.wires.address());
    this.socket = socket;
    socket.onopen = () => {
      this.failures = 0;
      this.told = "";
      this.stand({ is: "open" });
      this.tell();
      this.heard.opened(this.wasOpen);
      this.wasOpen = true;
    };
    socket.onmessage = (event: MessageEvent) => {
      if (typeof event.data === "string") this.heard.message(event.data);
    };
    socket.onclose = () => this.lost(socket);
  }

  private lost(socket: WebSocket): void {
    if (socket !== this.socket) return;
    this.socket = null;
    const wait = backoff(this.failures, this.wires.chance());
    this.failures += 1;
    this.stand({ is: "waiting", retryAt: this.wires.now() + wait });
    this.timer = setTimeout(() => this.connect(), wait);
  }

  private drop(): void {
    clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }

  private stand(standing: Standing): void {
    this.standing = standing;
    for (const watcher of this.watchers) watcher();
  }
}
