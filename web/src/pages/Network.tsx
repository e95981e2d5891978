// The public page: what runs now, what it costs, where machines are, and why results can be believed.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import type { StatusView } from "../api/pending";
import * as queries from "../api/queries";
import type { PriceView } from "../api/views";
import { useSession } from "../app/session";
import { gln, shown } from "../format/amount";
import { count, counted, percent, size } from "../format/number";
import { Field } from "../network/Field";
import { WorldMap } from "../network/WorldMap";
import { LazyChart } from "../ui/LazyChart";
import { Answer, Bed, Empty, Switch, Trouble } from "../ui/parts";
import { Figure, Figures, Meter, Money } from "../ui/words";
import "./network.css";

export default function Network() {
  const status = useQuery(queries.status);
  return (
    <div className="stack wide">
      <Hero status={status.data} />
      {status.data && !status.data.accepting ? (
        <div className="notice straw">
          <strong>This hub takes no new jobs at the moment</strong>
          <p>{status.data.reason ?? "It has not said why."}</p>
        </div>
      ) : null}
      {status.error && !status.data ? <Trouble error={status.error} again={() => void status.refetch()} /> : null}
      <Now status={status.data} />
      <Market />
      <div className="columns">
        <Bed title="Where machines are">
          <Regions />
        </Bed>
        <Believed status={status.data} />
      </div>
    </div>
  );
}

function Hero({ status }: { status: StatusView | undefined }) {
  const session = useSession();
  return (
    <section className="hero" aria-labelledby="hero-title">
      <div className="hero-words">
        <h1 id="hero-title">Idle GPUs, put to work</h1>
        <p className="hero-now" aria-live="off">
          {status ? <Sentence status={status} /> : "Asking the hub what runs now."}
        </p>
        <div className="row">
          <Link href={session ? "/jobs/new" : "/sign-up"} className="button main">
            Run a job
          </Link>
          <Link href={session ? "/machines" : "/sign-up?then=/machines"} className="button">
            Share a machine
          </Link>
        </div>
      </div>
      <Field slots={status?.slots ?? 0} busy={status?.slots_busy ?? 0} />
      <p className="hero-legend small">One stalk for each slot on this network. Those with an ear are working.</p>
    </section>
  );
}

/** What runs now, in one sentence. */
function Sentence({ status }: { status: StatusView }) {
  if (status.slots === 0) return <>Nobody shares a machine at the moment. The first one to join gets what waits.</>;
  const jobs = status.jobs_running > 0 ? ` on ${counted(status.jobs_running, "job")}` : "";
  const waiting = status.tasks_waiting > 0 ? ` ${counted(status.tasks_waiting, "task")} wait for room.` : " Nothing waits.";
  if (status.slots_busy === 0)
    return (
      <>
        <strong>{counted(status.slots, "slot")}</strong> ready, none at work.{waiting}
      </>
    );
  return (
    <>
      <strong>
        {count(status.slots_busy)} of {counted(status.slots, "slot")}
      </strong>{" "}
      at work{jobs}.{waiting}
    </>
  );
}

function Now({ status }: { status: StatusView | undefined }) {
  const last = status?.throughput.at(-1);
  return (
    <section className="section" aria-label="Now">
      <Figures>
        <Figure label="Machines here" tone="leaf" value={status ? count(online(status)) : "–"} unit="workers" note={status ? states(status) : null} />
        <Figure
          label="At work"
          tone="straw"
          value={status && status.slots > 0 ? percent(status.slots_busy / status.slots) : "–"}
          unit="of slots"
          note={status ? `${count(status.tasks_running)} tasks running` : null}
        />
        <Figure label="Waiting" tone="corn" value={status ? count(status.tasks_waiting) : "–"} unit="tasks" note="until a machine that fits is free" />
        <Figure label="Finished" value={last ? count(last.done) : "–"} unit="tasks/min" note={status ? `${count(status.tasks_done)} tasks ever` : null} />
        <Figure label="Paid to providers" tone="straw" value={status ? shown(status.paid) : "–"} unit="GLN" note="for checked work, ever" />
      </Figures>
      {status && status.throughput.length > 1 ? <Throughput status={status} /> : null}
    </section>
  );
}

function online(status: StatusView): number {
  return Object.entries(status.workers).reduce((sum, [state, number]) => sum + (state === "offline" ? 0 : number), 0);
}

const STATE_WORDS: Record<string, string> = { available: "ready", busy: "working", probation: "on probation" };

function states(status: StatusView): string {
  return Object.entries(status.workers)
    .filter(([state, number]) => number > 0 && state !== "offline")
    .map(([state, number]) => `${number} ${STATE_WORDS[state] ?? state}`)
    .join(", ");
}

function Throughput({ status }: { status: StatusView }) {
  const points = status.throughput;
  return (
    <div className="throughput">
      <LazyChart
        time
        height={130}
        label={`Tasks finished each minute, over the last ${points.length} minutes`}
        x={points.map((point) => point.at / 1000)}
        lines={[{ label: "finished", colour: "leaf", as: "area", format: (value) => `${count(value)} tasks/min` }]}
        values={[points.map((point) => point.done)]}
      />
    </div>
  );
}

function Market() {
  const prices = useQuery(queries.prices);
  const [chosen, setChosen] = useState<string | null>(null);
  return (
    <Bed
      title="Supply, demand and prices"
      lead="What a slot of each class of device costs by the hour. The price rises while slots are busy and tasks wait, and falls while they idle."
      actions={
        <Link href="/market" className="small">
          All machines
        </Link>
      }
    >
      <Answer query={prices} what="prices">
        {(classes) =>
          classes.length === 0 ? (
            <Empty title="No device has joined yet">Prices appear with the first machine that shares a device.</Empty>
          ) : (
            <Classes classes={classes} chosen={chosen ?? busiest(classes)} onChoose={setChosen} />
          )
        }
      </Answer>
    </Bed>
  );
}

function busiest(classes: PriceView[]): string {
  return [...classes].sort((a, b) => b.busy + b.waiting - (a.busy + a.waiting) || b.slots - a.slots)[0]?.class ?? "";
}

/** A class of devices as people say it. */
export function className(view: { kind: string; runtime: string; memory_min: string }): string {
  const kinds: Record<string, string> = { cpu: "Processor", software: "Software GPU", nvidia: "NVIDIA", amd: "AMD", intel: "Intel", apple: "Apple" };
  const memory = view.memory_min === "0B" ? "" : `, from ${size(view.memory_min)}`;
  return `${kinds[view.kind] ?? "Other GPU"}${memory} · ${view.runtime}`;
}

function Classes({ classes, chosen, onChoose }: { classes: PriceView[]; chosen: string; onChoose: (name: string) => void }) {
  return (
    <div className="market">
      <ul className="classes" aria-label="Classes of devices">
        {classes.map((view) => (
          <li key={view.class}>
            <button type="button" aria-pressed={view.class === chosen} onClick={() => onChoose(view.class)}>
              <span className="class-name">{className(view)}</span>
              <Money amount={view.per_hour} per="h" />
              <Meter
                share={view.slots > 0 ? view.busy / view.slots : 0}
                tone={view.waiting > 0 ? "corn" : "straw"}
                label={`${view.busy} of ${view.slots} slots working`}
              />
              <span className="class-use small soft">
                {view.busy} of {counted(view.slots, "slot")} working{view.waiting > 0 ? `, ${counted(view.waiting, "task")} waiting` : ""}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <History name={chosen} />
    </div>
  );
}

function History({ name }: { name: string }) {
  const history = useQuery(queries.priceHistory(name));
  const [scale, setScale] = useState<"minutes" | "hours">("minutes");
  return (
    <div className="stack">
      <Answer query={history} what="the price history" lines={6}>
        {(data) => {
          const points = data[scale];
          return (
            <>
              <div className="row spread">
                <div>
                  <h3>{className(data)}</h3>
                  <p className="small soft">
                    asked now: {data.lowest ? <Money amount={hourly(data.lowest)} per="h" /> : "nobody is here"}
                    {data.median ? (
                      <>
                        {" "}
                        at least, <Money amount={hourly(data.median)} per="h" /> in the middle
                      </>
                    ) : null}
                  </p>
                </div>
                <Switch label="Time span" value={scale} choices={[["minutes", "Day"], ["hours", "Month"]] as const} onChange={setScale} />
              </div>
              {points.length > 1 ? (
                <>
                  <LazyChart
                    time
                    height={190}
                    label={`Price of ${className(data)} over time, in GLN an hour`}
                    x={points.map((point) => point.at / 1000)}
                    lines={[{ label: "price", colour: "straw", as: "area", format: (value) => `${trimmed(value)} GLN/h` }]}
                    values={[points.map((point) => gln(point.per_second) * 3600)]}
                  />
                  <LazyChart
                    time
                    height={110}
                    label="Share of slots at work over time"
                    x={points.map((point) => point.at / 1000)}
                    lines={[{ label: "slots at work", colour: "leaf", as: "steps", format: (value) => `${Math.round(value)} %` }]}
                    values={[points.map((point) => point.utilisation / 10)]}
                  />
                </>
              ) : (
                <Empty title="No history yet">A point is added every {scale === "minutes" ? "minute" : "hour"}.</Empty>
              )}
            </>
          );
        }}
      </Answer>
    </div>
  );
}

/** A price for a second as one for an hour. */
function hourly(perSecond: string): bigint {
  return BigInt(Math.round(gln(perSecond) * 1e9)) * 3600n;
}

function trimmed(value: number): string {
  return value.toPrecision(3).replace(/\.?0+$/, "");
}

function Regions() {
  const regions = useQuery(queries.regions);
  return (
    <Answer query={regions} what="regions" lines={6}>
      {(page) => <WorldMap regions={page.items} />}
    </Answer>
  );
}

function Believed({ status }: { status: StatusView | undefined }) {
  const found = status?.verification;
  return (
    <Bed title="Why results can be believed" lead="Audited, not promised. Nobody has to be trusted, and everything below can be reckoned again.">
      <ol className="believed">
        <li>
          <strong>Signed first</strong>
          <p>A worker signs the hash of its result before it can know whether anybody will look.</p>
        </li>
        <li>
          <strong>Drawn by lot</strong>
          <p>
            The next block of the chain is the chance. New workers are drawn almost always, proven ones less often.
            {found && found.judged > 0 ? ` Here: ${percent(found.checked / found.judged, 1)} of ${counted(found.judged, "result")}.` : ""}
          </p>
        </li>
        <li>
          <strong>Computed again by another owner</strong>
          <p>
            Who does not know that it is a check.
            {found && found.checked > 0 ? ` Here: ${counted(found.agreed, "result")} agreed, ${count(found.refuted)} were refuted.` : ""}
          </p>
        </li>
        <li>
          <strong>Paid, or paid for</strong>
          <p>
            Right work is paid 85 %, the platform takes 15 %. Wrong work earns nothing and costs stake.
            {found ? (
              <>
                {" "}
                Here: <Money amount={found.slashed} /> of stake lost so far.
              </>
            ) : null}
          </p>
        </li>
      </ol>
      <p className="soft small">
        Every judged result leaves a receipt. Check one without asking anybody: <code>gleaner receipt verify</code>
      </p>
    </Bed>
  );
}
