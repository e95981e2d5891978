// The public page: what runs now, what it costs, where machines are, and why results can be believed.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link } from "wouter";
import type { PriceView, RegionFigure, StatusHistory, StatusView } from "../api/views";
import * as queries from "../api/queries";
import { useFollowed } from "../app/live";
import { useSession } from "../app/session";
import { gln, shown } from "../format/amount";
import { count, counted, percent, size } from "../format/number";
import { Field } from "../network/Field";
import { WorldMap } from "../network/WorldMap";
import { LazyChart } from "../ui/LazyChart";
import { Answer, Bed, Empty, Switch, Trouble, Waiting } from "../ui/parts";
import { Figure, Figures, Meter, Money } from "../ui/words";
import "./network.css";

export default function Network() {
  const status = useQuery(queries.status);
  useFollowed("network");
  return (
    <div className="stack wide">
      <Hero status={status.data} />
      <Refusing />
      {status.error && !status.data ? <Trouble error={status.error} again={() => void status.refetch()} /> : null}
      <Now status={status.data} />
      <Market />
      <div className="columns start">
        <Bed title="Where machines are">{status.data ? <WorldMap regions={status.data.regions} /> : <Waiting what="regions" lines={6} />}</Bed>
        <Believed status={status.data} />
      </div>
    </div>
  );
}

/** Why the hub takes nothing new, if that is so. */
function Refusing() {
  const health = useQuery(queries.health).data;
  if (!health || health.accepting) return null;
  return (
    <div className="notice straw">
      <strong>This hub takes no new jobs at the moment</strong>
      <p>{health.reason ?? "It has not said why."}</p>
    </div>
  );
}

/** Slots of all machines that are here, and how many of them run something. */
function slotsOf(status: StatusView): { slots: number; busy: number } {
  const sum = (of: (region: RegionFigure) => number) => status.regions.reduce((total, region) => total + of(region), 0);
  return { slots: sum((region) => region.slots), busy: sum((region) => region.slots_busy) };
}

function Hero({ status }: { status: StatusHistory | undefined }) {
  const session = useSession();
  const { slots, busy } = status ? slotsOf(status) : { slots: 0, busy: 0 };
  return (
    <section className="hero" aria-labelledby="hero-title">
      <div className="hero-words">
        <h1 id="hero-title">Idle GPUs, put to work</h1>
        <p className="hero-now">{status ? <Sentence status={status} /> : "Asking the hub what runs now."}</p>
        <div className="row">
          <Link href={session ? "/jobs/new" : "/sign-up?then=/jobs/new"} className="button main">
            Run a job
          </Link>
          <Link href={session ? "/machines" : "/sign-up?then=/machines"} className="button">
            Share a machine
          </Link>
        </div>
      </div>
      <Field slots={slots} busy={busy} />
      <p className="hero-legend small">One stalk for each slot on this network. Those with an ear are working.</p>
    </section>
  );
}

/** What runs now, in one sentence. */
function Sentence({ status }: { status: StatusView }) {
  const { slots, busy } = slotsOf(status);
  if (slots === 0) return <>Nobody shares a machine at the moment. The first one to join gets what waits.</>;
  const jobs = status.jobs.running > 0 ? ` on ${counted(status.jobs.running, "job")}` : "";
  const waiting = status.tasks.queued > 0 ? ` ${counted(status.tasks.queued, "task")} wait for room.` : " Nothing waits.";
  if (busy === 0)
    return (
      <>
        <strong>{counted(slots, "slot")}</strong> ready, none at work.{waiting}
      </>
    );
  return (
    <>
      <strong>
        {count(busy)} of {counted(slots, "slot")}
      </strong>{" "}
      at work{jobs}.{waiting}
    </>
  );
}

function Now({ status }: { status: StatusHistory | undefined }) {
  const { slots, busy } = status ? slotsOf(status) : { slots: 0, busy: 0 };
  const workers = status?.workers;
  return (
    <section className="section" aria-label="Now">
      <Figures>
        <Figure label="Machines here" tone="leaf" value={workers ? count(workers.online) : "–"} unit="workers" note={workers ? `${workers.busy} working, ${workers.idle} ready, ${workers.resting} resting` : null} />
        <Figure label="At work" tone="straw" value={slots > 0 ? percent(busy / slots) : "–"} unit="of slots" note={status ? `${count(status.tasks.running)} tasks running` : null} />
        <Figure label="Waiting" tone="corn" value={status ? count(status.tasks.queued) : "–"} unit="tasks" note="until a machine that fits is free" />
        <Figure label="Finished" value={status ? count(status.tasks.done_last_minute) : "–"} unit="tasks/min" note={status ? `${count(status.tasks.done_last_hour)} in the last hour, ${count(status.tasks.done)} ever` : null} />
        <Figure label="Paid to providers" tone="straw" value={status ? shown(status.paid) : "–"} unit="GLN" note="for checked work, ever" />
      </Figures>
      {status && status.history.length > 1 ? <Throughput status={status} /> : null}
    </section>
  );
}

function Throughput({ status }: { status: StatusHistory }) {
  const points = status.history;
  const x = useMemo(() => points.map((point) => point.at / 1000), [points]);
  const values = useMemo(() => [points.map((point) => point.tasks_done / 5)], [points]);
  return (
    <div className="throughput">
      <LazyChart
        time
        height={130}
        label="Tasks finished each minute, over the last day"
        x={x}
        lines={[{ label: "finished", colour: "leaf", as: "area", format: (value) => `${Number(value.toPrecision(3))} tasks/min` }]}
        values={values}
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
                    most={100}
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

function Believed({ status }: { status: StatusView | undefined }) {
  const found = status?.checks;
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
            {found && found.drawn > 0 ? ` Here: ${percent(found.audited / found.drawn, 1)} of ${counted(found.drawn, "result")}.` : ""}
          </p>
        </li>
        <li>
          <strong>Computed again by another owner</strong>
          <p>
            Who does not know that it is a check.
            {found && found.audited > 0 ? ` Here: ${counted(found.audited - found.contested, "result")} agreed, ${count(found.contested)} were contested, ${count(found.refuted)} refuted.` : ""}
          </p>
        </li>
        <li>
          <strong>Paid, or paid for</strong>
          <p>
            Right work is paid 85 %, the platform takes 15 %. Wrong work earns nothing and costs stake.
            {found && found.drawn > 0 ? ` Here: ${counted(found.wrong, "wrong answer")} found so far. Checking adds ${percent(found.overhead_per_mille / 1000, 1)} of work, which nobody is billed for.` : ""}
          </p>
        </li>
      </ol>
      <p className="soft small">
        Every judged result leaves a receipt. Check one without asking anybody: <code>gleaner receipt verify</code>. <Link href="/cases">Who was found wrong, with the evidence</Link>
      </p>
    </Bed>
  );
}
