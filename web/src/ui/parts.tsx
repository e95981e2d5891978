// Parts of pages: headings, errors, empty places, fields, copying.
import { type ReactNode, useId, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { Refusal, Unreachable, words } from "../api/http";
import { Icon } from "./Icon";

export function Head({ title, children, actions }: { title: string; children?: ReactNode; actions?: ReactNode }) {
  return (
    <header className="page-head">
      <div className="stack tight">
        <h1>{title}</h1>
        {children ? <div className="soft page-lead">{children}</div> : null}
      </div>
      {actions ? <div className="row">{actions}</div> : null}
    </header>
  );
}

export function Bed(props: { title?: string; lead?: ReactNode; actions?: ReactNode; flush?: boolean; children: ReactNode; id?: string }) {
  const id = useId();
  return (
    <section className={`bed${props.flush ? " flush" : ""}`} aria-labelledby={props.title ? id : undefined} id={props.id}>
      {props.title ? (
        <header>
          <h2 id={id}>{props.title}</h2>
          {props.actions}
          {props.lead ? <p>{props.lead}</p> : null}
        </header>
      ) : null}
      {props.children}
    </section>
  );
}

/** What went wrong, and what can be done. */
export function Trouble({ error, again }: { error: unknown; again?: () => void }) {
  const [path] = useLocation();
  const title = error instanceof Refusal ? error.title : error instanceof Unreachable ? "No answer" : "That did not work";
  return (
    <div className="notice poppy" role="alert">
      <strong>{title}</strong>
      <p>{words(error)}</p>
      {error instanceof Refusal && error.code === "fresh-sign-in" ? (
        <Link href={`/sign-in?then=${encodeURIComponent(path)}`} className="button small">
          Sign in again
        </Link>
      ) : null}
      {again ? (
        <button type="button" className="button small" onClick={again}>
          Try again
        </button>
      ) : null}
    </div>
  );
}

/** A place where nothing is yet, and what to do about it. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <svg className="stubble" width="96" height="28" viewBox="0 0 96 28" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" aria-hidden="true">
        <path d="M2 26h92M10 26l-2-9M22 26l1-12M34 26l-3-10M46 26V12M58 26l3-11M70 26l-1-9M84 26l3-12" />
      </svg>
      <strong>{title}</strong>
      {children ? <p>{children}</p> : null}
      {action}
    </div>
  );
}

/** Lines in the place of what is on its way. */
export function Waiting({ lines = 4, what }: { lines?: number; what: string }) {
  return (
    <div className="waiting" role="status" aria-label={`Loading ${what}`}>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} style={{ width: `${92 - ((line * 23) % 40)}%` }} />
      ))}
    </div>
  );
}

/** What a question brought: waiting, trouble, or the answer. */
export function Answer<T>(props: {
  query: { data: T | undefined; error: unknown; isPending: boolean; refetch: () => unknown };
  what: string;
  lines?: number;
  children: (data: T) => ReactNode;
}) {
  const { query } = props;
  if (query.data !== undefined) return <>{props.children(query.data)}</>;
  if (query.error) return <Trouble error={query.error} again={() => void query.refetch()} />;
  return <Waiting what={props.what} lines={props.lines} />;
}

export function Field(props: { label: string; hint?: ReactNode; wrong?: string | null; children: (id: string, described: string | undefined) => ReactNode }) {
  const id = useId();
  const described = props.hint || props.wrong ? `${id}-about` : undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}</label>
      {props.children(id, described)}
      <div id={described}>
        {props.wrong ? (
          <span className="wrong" role="alert">
            {props.wrong}
          </span>
        ) : props.hint ? (
          <span className="hint">{props.hint}</span>
        ) : null}
      </div>
    </div>
  );
}

export function Switch<T extends string>(props: { label: string; value: T; choices: readonly (readonly [T, string])[]; onChange: (value: T) => void }) {
  return (
    <div className="switch" role="group" aria-label={props.label}>
      {props.choices.map(([value, text]) => (
        <button key={value} type="button" aria-pressed={value === props.value} onClick={() => props.onChange(value)}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** Copies a text, and says that it did. */
export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setDone(false), 2000);
  };
  return (
    <button type="button" className="button small" onClick={() => void copy()}>
      <Icon name={done ? "check" : "copy"} size={16} />
      <span aria-live="polite">{done ? "Copied" : label}</span>
    </button>
  );
}

/** The next part of a list that comes in parts. */
export function More({ list, text }: { list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown }; text: string }) {
  if (!list.hasNextPage) return null;
  return (
    <div>
      <button type="button" className="button" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        {list.isFetchingNextPage ? "Loading" : text}
      </button>
    </div>
  );
}

export function Tabs({ items, current, label }: { items: readonly { path: string; text: string }[]; current: string; label: string }) {
  return (
    <nav className="tabs" aria-label={label}>
      {items.map(({ path, text }) => (
        <Link key={path} href={path} replace aria-current={path === current ? "page" : undefined}>
          {text}
        </Link>
      ))}
    </nav>
  );
}
