import { useSyncExternalStore } from "react";

const SHOWN_MS = 6000;

interface Toast {
  id: number;
  text: string;
}

let toasts: Toast[] = [];
let last = 0;
const watchers = new Set<() => void>();

function change(next: Toast[]): void {
  toasts = next;
  for (const watcher of watchers) watcher();
}

/** Says something for a few seconds. */
export function say(text: string): void {
  const id = ++last;
  change([...toasts, { id, text }].slice(-3));
  setTimeout(() => change(toasts.filter((toast) => toast.id !== id)), SHOWN_MS);
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export function Toasts() {
  const shown = useSyncExternalStore(watch, () => toasts);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <div key={toast.id} className="toast">
          {toast.text}
        </div>
      ))}
    </div>
  );
}
