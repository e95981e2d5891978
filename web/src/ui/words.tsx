// Small things that are said everywhere: money, time, figures, states.
import type { ReactNode } from "react";
import { exact, shown, units } from "../format/amount";
import { ago, moment, span } from "../format/time";
import { useNow, useNowEvery } from "./now";

/** An amount with its unit; all digits on hover. */
export function Money({ amount, per }: { amount: string | bigint | null | undefined; per?: string }) {
  const value = typeof amount === "bigint" ? amount : units(amount);
  return (
    <span className="nowrap" title={`${exact(value)} GLN`}>
      {shown(value)} GLN{per ? `/${per}` : ""}
    </span>
  );
}

/** A moment as people say it; the exact time on hover. */
export function When({ at }: { at: number }) {
  const now = useNowEvery(5);
  return (
    <time dateTime={new Date(at).toISOString()} title={moment(at)} className="nowrap">
      {ago(at, Math.max(now, Math.min(at, now + 5000)))}
    </time>
  );
}

/** How long something has taken, still counting if it has no end. */
export function Lasting({ from, to }: { from: number; to: number | null | undefined }) {
  return <span className="nowrap">{to == null ? <Counting from={from} /> : span(Math.max(0, to - from))}</span>;
}

function Counting({ from }: { from: number }) {
  const now = useNow();
  return <>{span(Math.max(0, Math.floor((now - from) / 1000) * 1000))}</>;
}

export type Tone = "straw" | "leaf" | "poppy" | "corn" | "plain";

/** A figure: what it is, its value with its unit, and what it rests on. */
export function Figure(props: { label: string; value: ReactNode; unit?: string; note?: ReactNode; tone?: Tone }) {
  return (
    <div className={`figure ${props.tone ?? "plain"}`}>
      <dt>{props.label}</dt>
      <dd>
        {props.value}
        {props.unit ? <span className="unit"> {props.unit}</span> : null}
        {props.note ? <div className="note">{props.note}</div> : null}
      </dd>
    </div>
  );
}

export function Figures({ children }: { children: ReactNode }) {
  return <dl className="figures">{children}</dl>;
}

/** A state in one word and one colour; `live` while it goes on. */
export function Pill({ tone = "plain", live, children }: { tone?: Tone; live?: boolean; children: ReactNode }) {
  return <span className={`pill ${tone}${live ? " live" : ""}`}>{children}</span>;
}

const JOB_STATES: Record<string, [Tone, string]> = {
  ordered: ["corn", "waiting for its payment"],
  running: ["straw", "running"],
  done: ["leaf", "done"],
  cancelled: ["plain", "cancelled"],
  failed: ["poppy", "failed"],
};

export function JobState({ state }: { state: string }) {
  const [tone, text] = JOB_STATES[state] ?? ["plain", state];
  return (
    <Pill tone={tone} live={state === "running"}>
      {text}
    </Pill>
  );
}

const WORKER_STATES: Record<string, [Tone, string]> = {
  available: ["leaf", "ready"],
  busy: ["straw", "working"],
  paused: ["plain", "paused"],
  offline: ["plain", "offline"],
  probation: ["corn", "on probation"],
  disqualified: ["poppy", "disqualified"],
};

export function WorkerState({ state }: { state: string }) {
  const [tone, text] = WORKER_STATES[state] ?? ["plain", state];
  return (
    <Pill tone={tone} live={state === "busy"}>
      {text}
    </Pill>
  );
}

/** A bar that fills up, with words for those who do not see it. */
export function Meter({ share, tone = "straw", label }: { share: number; tone?: Tone; label: string }) {
  const value = Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10;
  return (
    <span className={`meter ${tone}`} role="meter" aria-label={label} aria-valuenow={value} aria-valuemin={0} aria-valuemax={100}>
      <span style={{ width: `${value}%` }} />
    </span>
  );
}
