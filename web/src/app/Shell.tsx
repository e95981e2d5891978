import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { Icon } from "../ui/Icon";
import { Mark } from "../ui/Mark";
import { Switch } from "../ui/parts";
import { Sheet } from "../ui/Sheet";
import { LiveStanding, useFollowed } from "./live";
import { Palette } from "./Palette";
import { PLACES, type Place, placeOf } from "./places";
import { leave, useSession } from "./session";
import "./shell.css";
import { setTheme, type Theme, useTheme } from "./theme";
import { say, Toasts } from "./toast";

const GROUPS = ["Field", "Requester", "Provider", "You"] as const;
const THEMES = [
  ["system", "Auto"],
  ["light", "Day"],
  ["dark", "Night"],
] as const satisfies readonly (readonly [Theme, string])[];

export function Shell({ children }: { children: ReactNode }) {
  const [path] = useLocation();
  const [more, setMore] = useState(false);
  const main = useRef<HTMLElement>(null);
  const place = placeOf(path);
  useFollowed(useSession() ? "jobs" : null);
  useTitle(place, path);
  useFocusOnNewPage(main, path);
  useEffect(() => setMore(false), [path]);
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <Rail current={place} />
      <TopBar onMore={() => setMore(true)} />
      <main id="content" ref={main} tabIndex={-1}>
        {children}
      </main>
      <BottomBar current={place} onMore={() => setMore(true)} />
      {more ? (
        <Sheet title="Everything" onClose={() => setMore(false)}>
          <Places current={place} />
          <Foot />
        </Sheet>
      ) : null}
      <Palette />
      <Toasts />
    </div>
  );
}

function Rail({ current }: { current: Place | undefined }) {
  return (
    <aside className="rail">
      <Home />
      <Places current={current} />
      <Foot />
    </aside>
  );
}

function Home() {
  return (
    <Link href="/" className="home" aria-label="Gleaner, to the network">
      <Mark />
      <span>Gleaner</span>
    </Link>
  );
}

function Places({ current }: { current: Place | undefined }) {
  const session = useSession();
  return (
    <nav className="places" aria-label="Places">
      {GROUPS.map((group) => {
        const places = PLACES.filter((place) => place.group === group && (session || !place.signedIn));
        if (places.length === 0) return null;
        return (
          <div key={group}>
            <h2>{group}</h2>
            <ul>
              {places.map((place) => (
                <li key={place.path}>
                  <Link href={place.path} aria-current={place === current ? "page" : undefined}>
                    <Icon name={place.icon} />
                    {place.text}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

function Foot() {
  const session = useSession();
  const theme = useTheme();
  const [, go] = useLocation();
  const out = async () => {
    await leave();
    go("/");
    say("You are signed out.");
  };
  return (
    <div className="foot">
      <div className="row spread">
        <LiveStanding />
        <kbd className="palette-hint">Ctrl K</kbd>
      </div>
      <Switch label="Theme" value={theme} choices={THEMES} onChange={setTheme} />
      {session ? (
        <div className="row spread signed-in">
          <Link href="/account" className="who">
            {session.account.name}
          </Link>
          <button type="button" className="button small plain" onClick={() => void out()}>
            Sign out
          </button>
        </div>
      ) : session === null ? (
        <div className="row">
          <Link href="/sign-up" className="button small main">
            Sign up
          </Link>
          <Link href="/sign-in" className="button small">
            Sign in
          </Link>
        </div>
      ) : null}
    </div>
  );
}

function TopBar({ onMore }: { onMore: () => void }) {
  const session = useSession();
  return (
    <header className="topbar">
      <Home />
      <LiveStanding />
      {session === null ? (
        <Link href="/sign-in" className="button small">
          Sign in
        </Link>
      ) : (
        <button type="button" className="icon-button" aria-label="Everything" onClick={onMore}>
          <Icon name="more" />
        </button>
      )}
    </header>
  );
}

function BottomBar({ current, onMore }: { current: Place | undefined; onMore: () => void }) {
  const session = useSession();
  const wanted = session ? ["/", "/jobs", "/jobs/new", "/machines"] : ["/", "/market", "/catalogue"];
  return (
    <nav className="bottombar" aria-label="Main places">
      {wanted.map((path) => {
        const place = PLACES.find((one) => one.path === path) as Place;
        return (
          <Link key={path} href={path} aria-current={place === current ? "page" : undefined}>
            <Icon name={place.icon} />
            {place.text.replace("My m", "M")}
          </Link>
        );
      })}
      <button type="button" onClick={onMore}>
        <Icon name="more" />
        More
      </button>
    </nav>
  );
}

function useTitle(place: Place | undefined, path: string): void {
  useEffect(() => {
    document.title = place && path !== "/" ? `${place.text} · Gleaner` : "Gleaner";
  }, [place, path]);
}

/** A new page begins at its top, also for those who hear it. The first one is left as the browser has it. */
function useFocusOnNewPage(main: React.RefObject<HTMLElement | null>, path: string): void {
  const first = useRef(true);
  const page = placeOf(path)?.path ?? path;
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [main, page]);
}
