// Every machine that offers work, with what it has and asks.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useDeferredValue, useMemo, useState } from "react";
import type { WorkersAsked } from "../api/hub";
import * as queries from "../api/queries";
import type { WorkerView } from "../api/views";
import { useFollowed } from "../app/live";
import { units } from "../format/amount";
import { bytes, count, parseBytes, percent } from "../format/number";
import { type Column, DataTable } from "../ui/DataTable";
import { Answer, Bed, Empty, Field, Head, More } from "../ui/parts";
import { Money, WorkerState } from "../ui/words";

interface Wanted {
  device: string;
  memory: string;
  region: string;
  price: string;
  score: string;
}

const NOTHING: Wanted = { device: "", memory: "", region: "", price: "", score: "" };

const DEVICES = [
  ["", "any"],
  ["gpu", "any GPU"],
  ["nvidia", "NVIDIA"],
  ["amd", "AMD"],
  ["intel", "Intel"],
  ["apple", "Apple"],
  ["cpu", "processor"],
  ["software", "software GPU"],
] as const;

function asked(wanted: Wanted): WorkersAsked {
  return {
    device: wanted.device || undefined,
    memory_min: wanted.memory ? `${wanted.memory}GiB` : undefined,
    region: wanted.region.trim() || undefined,
    price_max: wanted.price || undefined,
    score_min: wanted.score || undefined,
    sort: "price",
  };
}

const lowest = (worker: WorkerView) => worker.offer.devices.reduce((least, device) => (units(device.price_per_second) < least ? units(device.price_per_second) : least), units("1000")) * 3600n;
const memory = (worker: WorkerView) => Math.max(0, ...worker.offer.devices.map((device) => parseBytes(device.memory) ?? 0));
const score = (worker: WorkerView) => Math.max(0, ...worker.tests.map((test) => test.score ?? 0), ...worker.offer.devices.flatMap((device) => device.runtimes.map((runtime) => runtime.score)));
const slots = (worker: WorkerView) => worker.offer.devices.reduce((sum, device) => sum + device.slots, 0);

const COLUMNS: Column<WorkerView>[] = [
  {
    id: "name",
    head: "Machine",
    lead: true,
    by: (worker) => worker.offer.name,
    cell: (worker) => (
      <div>
        <strong>{worker.offer.name}</strong>
        <div className="small soft">{worker.offer.devices.map((device) => (device.cards > 1 ? `${device.cards} × ${device.name}` : device.name)).join(", ")}</div>
      </div>
    ),
  },
  { id: "state", head: "State", by: (worker) => worker.state, cell: (worker) => <WorkerState state={worker.state} /> },
  { id: "region", head: "Region", by: (worker) => worker.offer.region, cell: (worker) => worker.offer.region },
  { id: "memory", head: "Memory", number: true, by: memory, cell: (worker) => bytes(memory(worker)) },
  { id: "slots", head: "Slots", number: true, by: slots, cell: (worker) => count(slots(worker)) },
  { id: "runs", head: "Runs", cell: (worker) => <span className="small">{[...new Set(worker.offer.devices.flatMap((device) => device.runtimes.map((one) => one.runtime)))].join(", ")}</span> },
  { id: "score", head: "Speed", number: true, by: score, cell: (worker) => <span title="1000 is the reference machine">{count(score(worker))}</span> },
  { id: "reliability", head: "Finishes", number: true, by: (worker) => worker.reliability_per_mille, cell: (worker) => <span title="share of attempts that it finishes">{percent(worker.reliability_per_mille / 1000)}</span> },
  { id: "price", head: "Asks", number: true, by: lowest, cell: (worker) => <Money amount={lowest(worker)} per="h" /> },
];

export default function Market() {
  const [wanted, setWanted] = useState(NOTHING);
  const query = useDeferredValue(wanted);
  useFollowed("workers");
  const workers = useInfiniteQuery(queries.workers(asked(query)));
  const rows = useMemo(() => workers.data?.pages.flatMap((page) => page.items) ?? [], [workers.data]);
  const filtered = Object.values(wanted).some(Boolean);
  return (
    <>
      <Head title="Market">Every machine on this network: what it has, how fast the hub found it to be, and what an hour of one slot costs.</Head>
      <div className="stack">
        <Filters wanted={wanted} onChange={setWanted} />
        <Bed flush>
          <Answer query={workers} what="machines" lines={6}>
            {() =>
              rows.length > 0 ? (
                <DataTable rows={rows} columns={COLUMNS} id={(worker) => String(worker.id)} label="Machines" />
              ) : filtered ? (
                <Empty
                  title="No machine matches"
                  action={
                    <button type="button" className="button" onClick={() => setWanted(NOTHING)}>
                      Show all
                    </button>
                  }
                >
                  A job that needs such a machine would wait until one joins. Ask for less memory, another region or a higher price.
                </Empty>
              ) : (
                <Empty title="Nobody shares a machine yet">
                  Be the first: <code>gleaner share --hub {location.origin}</code>
                </Empty>
              )
            }
          </Answer>
        </Bed>
        <More list={workers} text="More machines" />
      </div>
    </>
  );
}

function Filters({ wanted, onChange }: { wanted: Wanted; onChange: (wanted: Wanted) => void }) {
  const set = (name: keyof Wanted) => (event: { target: { value: string } }) => onChange({ ...wanted, [name]: event.target.value });
  return (
    <form className="filters" role="search" aria-label="Machines" onSubmit={(event) => event.preventDefault()}>
      <Field label="Device">
        {(id) => (
          <select id={id} className="select" value={wanted.device} onChange={set("device")}>
            {DEVICES.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Memory, at least (GiB)">{(id) => <input id={id} className="input" type="number" min="0" value={wanted.memory} onChange={set("memory")} />}</Field>
      <Field label="Region">{(id) => <input id={id} className="input" placeholder="eu" value={wanted.region} onChange={set("region")} />}</Field>
      <Field label="Price, at most (GLN/h)">{(id) => <input id={id} className="input" type="number" min="0" step="any" value={wanted.price} onChange={set("price")} />}</Field>
      <Field label="Speed, at least">{(id) => <input id={id} className="input" type="number" min="0" value={wanted.score} onChange={set("score")} />}</Field>
    </form>
  );
}

