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
import { ShareButton } from "../machine/ShareButton";
import { hourlyPrice, staked, standing } from "../machine/standing";
import { Answer, Bed, Empty, Head } from "../ui/parts";
import { Figure, Figures, Money, WorkerState } from "../ui/words";

export default function Machines() {
  const machines = useQuery(queries.machines);
  useFollowed("workers");
  return (
    <>
      <Head title="My machines" actions={machines.data?.items.length ? <ShareButton /> : null}>
        What you share, how it does, and what it brings. You come first: a machine gives back its GPU within two seconds when you need it.
      </Head>
      <Answer query={machines} what="your machines" lines={8}>
        {({ items, more }) =>
          items.length > 0 ? (
            <>
              <Shown machines={items} />
              {more ? <p className="soft">You have more machines than fit on this page; these are the ones that joined first.</p> : null}
            </>
          ) : (
            <None />
          )
        }
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
        <Figure label="Staked" tone="corn" value={<Money amount={staked(machines)} />} note="what stands behind their results" />
        <Figure label="Lost" tone="poppy" value={<Money amount={sum((machine) => machine.forfeited)} />} note="bonds for work that was won and not begun" />
      </Figures>
      <ul className="machines">
        {machines.map((machine) => (
          <li key={machine.id}>
            <Machine machine={machine} />
          </li>
        ))}
      </ul>
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

function None() {
  return (
    <Bed>
      <Empty title="You share no machine yet" action={<ShareButton main />}>
        Three commands, and nothing on your machine updates itself or sees your files.
      </Empty>
    </Bed>
  );
}
