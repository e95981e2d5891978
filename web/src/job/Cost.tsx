import type { JobView, TallyView } from "../api/views";
import { share, units } from "../format/amount";
import { count, counted, percent } from "../format/number";
import { spanMicros } from "../format/time";
import { hasEnded } from "../live/merge";
import { type Column, DataTable } from "../ui/DataTable";
import { Bed, Empty } from "../ui/parts";
import { Meter, Money } from "../ui/words";
import { Dispute } from "./Dispute";

const COLUMNS: Column<TallyView>[] = [
  { id: "name", head: "Worker", lead: true, by: (tally) => tally.name, cell: (tally) => tally.name },
  { id: "done", head: "Delivered", number: true, by: (tally) => tally.done, cell: (tally) => counted(tally.done, "task") },
  { id: "failed", head: "Failed or lost", number: true, by: (tally) => tally.failed, cell: (tally) => counted(tally.failed, "attempt") },
  { id: "ran", head: "Device time", number: true, by: (tally) => tally.ran_micros, cell: (tally) => spanMicros(tally.ran_micros) },
  { id: "gross", head: "You paid", number: true, by: (tally) => units(tally.gross), cell: (tally) => <Money amount={tally.gross} /> },
  { id: "earned", head: "Its owner got", number: true, by: (tally) => units(tally.earned), cell: (tally) => <Money amount={tally.earned} /> },
];

export default function Cost({ job }: { job: JobView }) {
  const [spent, cap] = [units(job.spent), units(job.price_max)];
  const used = share(spent, cap);
  const gross = job.workers.reduce((sum, tally) => sum + units(tally.gross), 0n);
  const earned = job.workers.reduce((sum, tally) => sum + units(tally.earned), 0n);
  return (
    <div className="stack">
      <Bed title="Against the cap">
        <div className="stack">
          <Meter share={used} tone={used > 0.9 ? "poppy" : "straw"} label={`${percent(used)} of the cap is spent`} />
          <p>
            <Money amount={spent} /> of <Money amount={cap} />, {percent(used, 1)}.{" "}
            <span className="soft">
              {hasEnded(job) ? "What was not spent is back in your wallet." : "It never costs more; what is not spent comes back when the job ends."}
            </span>
          </p>
          {gross > 0n ? (
            <p className="soft small">
              Of <Money amount={gross} /> for delivered work, {percent(share(earned, gross), 1)} went to the owners of the machines and{" "}
              {percent(share(gross - earned, gross), 1)} to the platform.
            </p>
          ) : null}
        </div>
      </Bed>
      {hasEnded(job) ? <Dispute job={job} /> : null}
      <Bed flush title="Who worked on it">
        {job.workers.length > 0 ? (
          <DataTable rows={job.workers} columns={COLUMNS} id={(tally) => String(tally.worker)} label="Workers of this job" sorting={[{ id: "done", desc: true }]} />
        ) : (
          <Empty title="Nobody has been paid yet">A worker appears here with its first delivered task.</Empty>
        )}
      </Bed>
      {job.checks.length > 0 ? <Checks job={job} /> : null}
      {job.awards.length > 0 ? <Awards job={job} /> : null}
    </div>
  );
}

function Checks({ job }: { job: JobView }) {
  return (
    <Bed title="How results were checked before they were paid">
      <ul className="stack tight">
        {job.checks.map((check) => (
          <li key={check.verdict} className="row">
            <strong>{count(check.results)}</strong>
            <span>{check.verdict}</span>
            <span className={check.paid ? "faint" : "wrong"}>{check.paid ? "" : "not paid"}</span>
          </li>
        ))}
      </ul>
    </Bed>
  );
}

function Awards({ job }: { job: JobView }) {
  return (
    <Bed title="Auctions" lead="The best bid wins and is paid what the second best would have had to be paid.">
      <ul className="stack tight">
        {job.awards.map((award) => (
          <li key={award.task}>
            <span className="mono">{award.task}</span> went to {award.worker} out of {award.bids} bids: it asked <Money amount={award.bid} per="s" />, and is paid{" "}
            <Money amount={award.price} per="s" />.
          </li>
        ))}
      </ul>
    </Bed>
  );
}
