// Ctrl K: go anywhere by typing a few letters of it.
import { useQueryClient, type InfiniteData } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import type { JobSummary, Page } from "../api/views";
import { Icon, type IconName } from "../ui/Icon";
import { PLACES } from "./places";
import { useSession } from "./session";
import { setTheme } from "./theme";

interface Entry {
  text: string;
  icon: IconName;
  run: () => void;
}

const SHOWN_MAX = 9;

/** Whether all letters of `typed` occur in `text`, in order. */
export function matches(text: string, typed: string): boolean {
  let from = 0;
  const lower = text.toLowerCase();
  for (const letter of typed.toLowerCase().replaceAll(" ", "")) {
    from = lower.indexOf(letter, from) + 1;
    if (from === 0) return false;
  }
  return true;
}

export function Palette() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen((was) => !was);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return open ? <Opened onClose={() => setOpen(false)} /> : null;
}

function useEntries(): Entry[] {
  const session = useSession();
  const cache = useQueryClient();
  const [, go] = useLocation();
  return useMemo(() => {
    const places = PLACES.filter((place) => session || !place.signedIn).map((place) => ({
      text: place.text,
      icon: place.icon,
      run: () => go(place.path),
    }));
    const lists = cache.getQueriesData<InfiniteData<Page<JobSummary>>>({ queryKey: ["jobs"] });
    const jobs = new Map<number, Entry>();
    for (const job of lists.flatMap(([, data]) => data?.pages.flatMap((page) => page.items) ?? []))
      jobs.set(job.id, { text: `Job ${job.id}: ${job.name}`, icon: "jobs", run: () => go(`/jobs/${job.id}`) });
    const themes: Entry[] = [
      { text: "Theme: day", icon: "sun", run: () => setTheme("light") },
      { text: "Theme: night", icon: "moon", run: () => setTheme("dark") },
      { text: "Theme: like the system", icon: "system", run: () => setTheme("system") },
    ];
    return [...places, ...jobs.values(), ...themes];
  }, [session, cache, go]);
}

function Opened({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const entries = useEntries();
  const found = entries.filter((entry) => matches(entry.text, typed)).slice(0, SHOWN_MAX);
  useEffect(() => dialog.current?.showModal(), []);
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const press = (event: React.KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step && found.length) setAt((at + step + found.length) % found.length);
    else if (event.key === "Enter") run(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} className="palette" aria-label="Go to" onClose={onClose} onClick={(event) => event.target === dialog.current && onClose()}>
      <input
        className="input"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        aria-label="Go to a page or a job"
        placeholder="Go to a page or a job"
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <ul id="palette-list" role="listbox" aria-label="Places">
        {found.map((entry, index) => (
          <li key={entry.text} id={`palette-${index}`} role="option" aria-selected={index === at} onPointerMove={() => setAt(index)} onClick={() => run(entry)}>
            <Icon name={entry.icon} />
            {entry.text}
          </li>
        ))}
      </ul>
      {found.length === 0 ? <p className="soft small">Nothing of that name.</p> : null}
    </dialog>
  );
}
