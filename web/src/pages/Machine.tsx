// One machine of mine: its settings, what it earns, and what it stands for.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import * as hub from "../api/hub";
import type { MachineView, Penalty } from "../api/views";
import * as queries from "../api/queries";
import { useFollowed } from "../app/live";
import { say } from "../app/toast";
import { exact, parseAmount } from "../format/amount";
import { counted, percent, short } from "../format/number";
import { Device } from "../machine/Device";
import { EarningsChart } from "../machine/EarningsChart";
import { binMs, DAY_MS, earned, filled } from "../machine/earnings";
import "../machine/machine.css";
import { GiveUp } from "../machine/GiveUp";
import { PauseButton } from "../machine/PauseButton";
import { hourlyPrice, readHours, standing } from "../machine/standing";
import { Answer, Bed, Empty, Field, Head, Switch, Trouble } from "../ui/parts";
import { Figure, Figures, Money, When, WorkerState } from "../ui/words";

export default function Machine({ id }: { id: number }) {
  const machines = useQuery(queries.machines);
  useFollowed(`worker:${id}`);
  return (
    <Answer query={machines} what="the machine" lines={8}>
      {(page) => {
        const machine = page.items.find((one) => one.id === id);
        return machine ? (
          <Shown machine={machine} />
        ) : (
          <Empty title="You have no such machine" action={<Link href="/machines">Your machines</Link>}>
            It may be somebody else's.
          </Empty>
        );
      }}
    </Answer>
  );
}

function Shown({ machine }: { machine: MachineView }) {
  return (
    <>
      <Head title={machine.offer.name} actions={<PauseButton machine={machine} />}>
        <span className="row">
          <WorkerState state={machine.state} /> {standing(machine)}
        </span>
      </Head>
      <div className="stack">
        <div className="devices">
          {machine.offer.devices.map((device, index) => (
            <Device key={index} machine={machine} device={device} index={index} />
          ))}
        </div>
        <Bed title="Earnings" lead="The last 30 days. Energy is by the time that tasks ran, at your tariff.">
          <Brought machine={machine} />
        </Bed>
        {machine.paired ? (
          <div className="columns">
            <Price machine={machine} />
            <Hours machine={machine} />
          </div>
        ) : (
          <Unpaired machine={machine} />
        )}
        <Word machine={machine} />
        <GiveUp machine={machine} />
      </div>
    </>
  );
}

const DAYS = 30;

function Brought({ machine }: { machine: MachineView }) {
  const earnings = useQuery(queries.earnings(machine.id, DAYS));
  return (
    <Answer query={earnings} what="earnings" lines={5}>
      {(view) => <EarningsChart earned={filled(earned(view, machine.energy_per_hour, binMs(DAYS)), Date.now() - DAYS * DAY_MS, Date.now(), binMs(DAYS))} />}
    </Answer>
  );
}

/** A machine that follows only who sits at it. */
function Unpaired({ machine }: { machine: MachineView }) {
  return (
    <Bed title="Price and schedule">
      <p>
        It asks <Money amount={hourlyPrice(machine)} per="h" /> for one slot{machine.hours ? `, and is shared at ${machine.hours}` : ""}. Both are set on the machine itself. To set them here, start it with{" "}
        <code>--account-token-file</code> and a token of yours: “Share a machine” among <Link href="/machines">your machines</Link> makes one.
      </p>
    </Bed>
  );
}

function useSetting(machine: MachineView) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (settings: { price?: string; hours?: string }) => hub.setMachine(machine.id, settings),
    onSuccess: () => say("The machine will follow within a minute."),
    onSettled: () => cache.invalidateQueries({ queryKey: ["machines"] }),
  });
}

function Price({ machine }: { machine: MachineView }) {
  const [way, setWay] = useState<"market" | "own">(machine.price === "market" || machine.price === null ? "market" : "own");
  const [typed, setTyped] = useState(exact(hourlyPrice(machine)));
  const setting = useSetting(machine);
  const wrong = way === "own" && parseAmount(typed) === null ? "Write a number of GLN, such as 0.36" : null;
  return (
    <Bed title="Price">
      <div className="stack">
        <Switch label="How the price is set" value={way} choices={[["market", "What the market asks"], ["own", "My own"]] as const} onChange={setWay} />
        {way === "own" ? (
          <Field label="Price for an hour of one slot" wrong={wrong} hint="The machine never works for less than its electricity">
            {(id, described) => (
              <span className="with-unit">
                <input id={id} className="input" inputMode="decimal" value={typed} aria-describedby={described} aria-invalid={wrong !== null} onChange={(event) => setTyped(event.target.value)} />
                GLN/h
              </span>
            )}
          </Field>
        ) : (
          <p className="soft">
            It follows what such a device costs at the moment, and never goes below its electricity. Now: <Money amount={hourlyPrice(machine)} per="h" />.
          </p>
        )}
        {setting.error ? <Trouble error={setting.error} /> : null}
        <div>
          <button type="button" className="button" disabled={wrong !== null || setting.isPending} onClick={() => setting.mutate({ price: way === "market" ? "market" : `${typed} GLN/h` })}>
            Set the price
          </button>
        </div>
      </div>
    </Bed>
  );
}

function Hours({ machine }: { machine: MachineView }) {
  const [typed, setTyped] = useState(machine.hours ?? "");
  const setting = useSetting(machine);
  const wrong = typed.trim() !== "" && readHours(typed) === null ? "Write spans of the day, such as 22:00-06:00" : null;
  return (
    <Bed title="Schedule">
      <div className="stack">
        <Field label="Hours in which it is shared" wrong={wrong} hint="In the machine's own time. Several with commas; empty means always">
          {(id, described) => <input id={id} className="input" placeholder="22:00-06:00" value={typed} aria-describedby={described} aria-invalid={wrong !== null} onChange={(event) => setTyped(event.target.value)} />}
        </Field>
        {setting.error ? <Trouble error={setting.error} /> : null}
        <div>
          <button type="button" className="button" disabled={wrong !== null || setting.isPending} onClick={() => setting.mutate({ hours: typed.trim() })}>
            Set the hours
          </button>
        </div>
      </div>
    </Bed>
  );
}

function Word({ machine }: { machine: MachineView }) {
  const audits = machine.audits;
  return (
    <Bed title="Its word: stake, checks and penalties">
      <div className="stack">
        {audits ? (
          <Figures>
            <Figure label="Stake" tone="straw" value={<Money amount={audits.stake} />} note={<>of it a verdict would take <Money amount={audits.loses} />; more stake means fewer checks, up to what an order locks</>} />
            <Figure label="Results checked" tone="corn" value={percent(audits.rate / 1e6, 1)} note={audits.by_record >= audits.by_stake ? "because of its record" : "because of its stake"} />
            <Figure label="Record" tone="leaf" value={audits.good} unit="right in a row" note={`${audits.bad} wrong ever, ${counted(audits.given_up, "check")} not given`} />
            <Figure label="Not paid yet" value={<Money amount={audits.exposure} />} note={<>at most <Money amount={audits.exposure_max} />, then no more work comes</>} />
          </Figures>
        ) : (
          <p className="soft">This hub does not check results, so nothing stands on the machine's word.</p>
        )}
        <p className="small soft">
          Stake and node rewards belong to the wallet that the machine is paid to{machine.offer.provider ? <>, <code className="wrap-anywhere">{machine.offer.provider}</code></> : null}. <code>gleaner stake show ADDRESS</code> shows all of its stake; <code>gleaner wallet rewards</code>, with that wallet, what can be claimed.
        </p>
        <h3>Penalties</h3>
        {machine.penalties.length > 0 ? (
          <ul className="penalties">
            {machine.penalties.map((penalty) => (
              <Lost key={`${penalty.at} ${penalty.task}`} penalty={penalty} />
            ))}
          </ul>
        ) : (
          <p className="soft">None. A penalty would be listed here with the evidence for it.</p>
        )}
      </div>
    </Bed>
  );
}

function Lost({ penalty }: { penalty: Penalty }) {
  return (
    <li>
      <strong>
        <Money amount={penalty.amount} />
      </strong>{" "}
      <span className="faint">
        <When at={penalty.at} />
      </span>
      <p>
        {penalty.task ? <span className="mono">{penalty.task}</span> : null} {penalty.why}
      </p>
      {penalty.evidence ? (
        <p className="small soft">
          Evidence <a href={hub.evidenceAddress(penalty.evidence)}>{short(penalty.evidence)}</a>; check it with <code>gleaner receipt verify</code>
        </p>
      ) : null}
    </li>
  );
}
