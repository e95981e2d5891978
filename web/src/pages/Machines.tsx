import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { MachineView } from "../api/views";
import * as queries from "../api/queries";
import { useFollowed } from "../app/live";
import { units } from "../format/amount";
import { counted } from "../format/number";
import { Device } from "../machine/Device";
import "../machine/machine.css";
import { PauseButton } from "../machine/PauseButton";
import { hourlyPrice, standing } from "../machine/standing";
import { Answer, Bed, Copy, Empty, Head } from "../ui/parts";
import { Figure, Figures, Money, WorkerState } from "../ui/words";

export default function Machines() {
  const machines = useQuery(queries.machines);
  useFollowed("workers");
  return (
    <>
      <Head title="My machines">What you share, how it does, and what it brings. You come first: a machine gives back its GPU within two seconds when you need it.</Head>
      <Answer query={machines} what="your machines" lines={8}>
        {(page) => (page.items.length > 0 ? <Shown machines={page.items} /> : <None />)}
      </Answer>
    </>
  );
}

function Shown({ machines }: { machines: MachineView[] }) {
  const sum = (of: (machine: MachineView) => string) => machines.reduce((total, machine) => total + units(of(machine)), 0n);
  const here = machines.filter((machine) => machine.state !== "offline").length;
  return (
    <div className="stack wide">
      <Figures>
        <Figure label="Machines" tone="leaf" value={here} unit={`of ${machines.length} here`} note={`${counted(machines.reduce((total, machine) => total + machine.running, 0), "task")} running`} />
        <Figure label="Earned" tone="straw" value={<Money amount={sum((machine) => machine.earned)} />} note={<Link href="/earnings">over time, net of energy</Link>} />
        <Figure label="Paid on the chain" value={<Money amount={sum((machine) => machine.settled)} />} note="the rest follows when its jobs are settled" />
        <Figure label="Lost" tone="poppy" value={<Money amount={sum((machine) => machine.forfeited)} />} note="bonds for work that was won and not begun" />
      </Figures>
      <ul className="machines">
        {machines.map((machine) => (
          <li key={machine.id}>
            <Machine machine={machine} />
          </li>
        ))}
      </ul>
      <Join />
    </div>
  );
}

function Machine({ machine }: { machine: MachineView }) {
  return (
    <Bed>
      <div className="stack">
        <div className="row spread">
          <div className="row">
            <h2>
              <Link href={`/machines/${machine.id}`} className="machine-link">
                {machine.offer.name}
              </Link>
            </h2>
            <WorkerState state={machine.state} />
            <span className="soft small">{machine.offer.region}</span>
          </div>
          <div className="row">
            <Link href={`/machines/${machine.id}`} className="button small">
              Settings
            </Link>
            <PauseButton machine={machine} />
          </div>
        </div>
        <p className="soft">{standing(machine)}</p>
        <div className="devices">
          {machine.offer.devices.map((device, index) => (
            <Device key={index} machine={machine} device={device} index={index} />
          ))}
        </div>
        <p className="small soft">
          Earned <Money amount={machine.earned} /> for {counted(machine.done, "task")}
          {machine.failed > 0 ? `, ${counted(machine.failed, "attempt")} failed or lost` : ""}. Asks <Money amount={hourlyPrice(machine)} per="h" />
          {machine.price === "market" ? " (what the market asks)" : ""}.
        </p>
      </div>
    </Bed>
  );
}

const SHARE = `gleaner share --hub ${location.origin}`;

function None() {
  return (
    <div className="stack">
      <Bed>
        <Empty title="You share no machine yet">Three steps, and nothing on your machine updates itself or sees your files.</Empty>
      </Bed>
      <Join />
    </div>
  );
}

function Join() {
  return (
    <Bed title="Share another machine" lead="On the machine that you want to share:">
      <ol className="steps">
        <li>
          See what it can share, and what is missing:
          <Command text="gleaner doctor" />
        </li>
        <li>
          <Link href="/account/tokens">Make a token</Link> with the scope “provide”, so that the machine is counted as yours. It is shown once.
        </li>
        <li>
          Share it. The hub tests each device before paid work comes:
          <Command text={`${SHARE} --account-token-file FILE`} />
        </li>
      </ol>
    </Bed>
  );
}

function Command({ text }: { text: string }) {
  return (
    <span className="row command">
      <code className="code">{text}</code>
      <Copy text={text} />
    </span>
  );
}
