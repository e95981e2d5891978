import { useSyncExternalStore } from "react";

const EVERY_MS = 1000;
const watchers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let current = Date.now();

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  timer ??= setInterval(() => {
    current = Date.now();
    for (const one of watchers) one();
  }, EVERY_MS);
  return () => {
    watchers.delete(watcher);
    if (watchers.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The time, once a second, from one clock for all that shows it. */
export function useNow(): number {
  return useSyncExternalStore(watch, () => current);
}

/** The time, once in each step of so many seconds. */
export function useNowEvery(seconds: number): number {
  const step = seconds * 1000;
  return useSyncExternalStore(watch, () => Math.floor(current / step) * step);
}
