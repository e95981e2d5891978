import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const KEY = "gleaner-theme";
const watchers = new Set<() => void>();

function read(): Theme {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

export function setTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // A browser that keeps nothing forgets the choice with the page.
  }
  for (const watcher of watchers) watcher();
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export function useTheme(): Theme {
  return useSyncExternalStore(watch, read);
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => {
  for (const watcher of watchers) watcher();
});

/** Changes whenever colours do: for what is drawn on a canvas. */
export function useColours(): string {
  return useSyncExternalStore(watch, () => `${read()} ${dark.matches}`);
}

/** What colours are now, for a canvas. A custom property is a recipe; only a painted element knows the colour. */
export function colours<T extends string>(names: readonly T[]): Record<T, string> {
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const found = {} as Record<T, string>;
  for (const name of names) {
    probe.style.color = `var(--${name})`;
    found[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return found;
}
