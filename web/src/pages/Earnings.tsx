import { useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import type { MachineView } from "../api/views";
import * as queries from "../api/queries";
import { useFollowed } from "../app/live";
import { EarningsChart } from "../machine/EarningsChart";
import { binMs, DAY_MS, earned, filled, together } from "../machine/earnings";
import "../machine/machine.css";
import { type Column, DataTable } from "../ui/DataTable";
import { Answer, Bed, Empty, Head, Switch, Waiting } from "../ui/parts";
import { Money } from "../ui/words";

const SPANS = [
  ["1", "Day"],
  ["7", "Week"],
  ["30", "Month"],
  ["365", "Year"],
] as const;

export default function Earnings() {
  const machines = useQuery(queries.machines);
  useFollowed("workers");
  const [days, setDays] = useState<(typeof SPANS)[number][0]>("30");
  return (
    <>
      <Head title="Earnings" actions={<Switch label="Time span" value={days} choices={SPANS} onChange={setDays} />}>
        What your machines have brought, with the electricity taken off.
      </Head>
      <Answer query={machines} what="earnings" lines={8}>
        {(page) =>
          page.items.length > 0 ? (
            <All machines={page.items} days={Number(days)} />
          ) : (
            <Bed>
              <Empty
                title="Nothing earned yet"
                action={
                  <Link href="/machines" className="button main">
                    Share a machine
                  </Link>
                }
              >
                You are paid 85 % of the price of every task that your machine delivers and that holds up to its check.
              </Empty>
            </Bed>
          )
        }
      </Answer>
    </>
  );
}

interface Line {
  machine: MachineView;
  earned: bigint;
  energy: bigint;
  /** Whether it knows what its electricity costs. */
  metered: boolean;
}

const COLUMNS: Column<Line>[] = [
  { id: "name", head: "Machine", lead: true, by: (line) => line.machine.offer.name, cell: (line) => <Link href={`/machines/${line.machine.id}`}>{line.machine.offer.name}</Link> },
  { id: "earned", head: "Earned", number: true, by: (line) => line.earned, cell: (line) => <Money amount={line.earned} /> },
  { id: "energy", head: "Energy", number: true, by: (line) => line.energy, cell: (line) => (line.metered ? <Money amount={line.energy} /> : <span className="soft">not known</span>) },
  { id: "net", head: "Net", number: true, by: (line) => line.earned - line.energy, cell: (line) => <Money amount={line.earned - line.energy} /> },
];

function All({ machines, days }: { machines: MachineView[]; days: number }) {
  const answers = useQueries({ queries: machines.map((machine) => queries.earnings(machine.id, days)) });
  if (answers.some((answer) => answer.isPending)) return <Waiting what="earnings" lines={8} />;
  const found = machines.flatMap((machine, index) => {
    const view = answers[index]?.data;
    return view ? [{ machine, ...earned(view, machine.energy_per_hour, binMs(days)) }] : [];
  });
  return (
    <div className="stack">
      <Bed title="All machines">
        <EarningsChart earned={filled(together(found), Date.now() - days * DAY_MS, Date.now(), binMs(days))} />
      </Bed>
      <Bed flush title="By machine">
        <DataTable rows={found} columns={COLUMNS} id={(line) => String(line.machine.id)} label="Earnings by machine" sorting={[{ id: "earned", desc: true }]} />
      </Bed>
    </div>
  );
}
