// The whole of a job in three answers: what ran where, what it cost, why it can be believed.
import { Link } from "wouter";
import type { JobView, TallyView } from "../api/views";
import { share, units } from "../format/amount";
import { count, counted, percent } from "../format/number";
import { spanMicros } from "../format/time";
import { hasEnded } from "../live/merge";
import { Bed } from "../ui/parts";
import { Meter, Money } from "../ui/words";

/** Workers that are named here; the others are under “Cost”. */
const NAMED_MAX = 6;

export function Summary({ job }: { job: JobView }) {
  return (
    <div className="answers">
      <Where job={job} />
      <Cost job={job} />
      <Believed job={job} />
    </div>
  );
}

function Where({ job }: { job: JobView }) {
  const workers = [...job.workers].sort((one, other) => other.done - one.done);
  const most = Math.max(1, ...workers.map((tally) => tally.done));
  const lost = job.workers.reduce((sum, tally) => sum + tally.failed, 0);
  return (
    <Bed title="What ran where">
      {workers.length > 0 ? (
        <ul className="tallies">
          {workers.slice(0, NAMED_MAX).map((tally) => (
            <Tally key={tally.worker} tally={tally} most={most} />
          ))}
        </ul>
      ) : (
        <p className="soft">{job.known > 0 ? "Nowhere: all results were known from before." : "No worker has delivered anything yet."}</p>
      )}
      {workers.length > NAMED_MAX ? <p className="soft small">and {counted(workers.length - NAMED_MAX, "more worker")}</p> : null}
      <p className="small">
        {lost > 0
          ? `${counted(lost, "attempt")} failed or got lost. ${hasEnded(job) ? "Other workers did those tasks, and" : "Other workers do those tasks, and"} what failed is not paid.`
          : "No attempt failed or got lost."}
      </p>
    </Bed>
  );
}

function Tally({ tally, most }: { tally: TallyView; most: number }) {
  return (
    <li>
      <span className="tally-name">{tally.name}</span>
      <span className="soft small nowrap">
        {counted(tally.done, "task")}, {spanMicros(tally.ran_micros)}
      </span>
      <Meter share={tally.done / most} tone="leaf" label={`${tally.name}: ${counted(tally.done, "task")}`} />
    </li>
  );
}

function Cost({ job }: { job: JobView }) {
  const [spent, cap] = [units(job.spent), units(job.price_max)];
  const gross = job.workers.reduce((sum, tally) => sum + units(tally.gross), 0n);
  const earned = job.workers.reduce((sum, tally) => sum + units(tally.earned), 0n);
  return (
    <Bed title="What it cost">
      <p className="answer-figure">
        <Money amount={spent} />
      </p>
      <Meter share={share(spent, cap)} label={`${percent(share(spent, cap), 1)} of the cap`} />
      <p className="small">
        of at most <Money amount={cap} />, locked in escrow before anything ran. {hasEnded(job) ? "The rest came back." : "The rest comes back."}
      </p>
      {gross > 0n ? (
        <p className="small">
          <Money amount={earned} /> ({percent(share(earned, gross))}) for the owners of the machines, <Money amount={gross - earned} /> for the platform.
        </p>
      ) : null}
      <p className="small">
        <Link href={`/jobs/${job.id}/cost`}>Who got what</Link>
      </p>
    </Bed>
  );
}

function Believed({ job }: { job: JobView }) {
  const judged = job.checks.reduce((sum, check) => sum + check.results, 0);
  return (
    <Bed title="Why it can be believed">
      {judged > 0 ? (
        <ul className="verdicts">
          {job.checks.map((check) => (
            <li key={check.verdict} className={check.paid ? "" : "refuted"}>
              <strong>{count(check.results)}</strong>
              <span>
                {check.verdict}
                {check.paid ? "" : ", and not paid"}
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <p className="soft">No result has been judged yet.</p>
      )}
      <p className="small">
        Workers sign what they deliver before lots are drawn. What the lot falls on, another owner's machine computes again without knowing that it is a check.
      </p>
      <p className="small">
        <Link href={`/jobs/${job.id}/receipts`}>Reckon the receipts again, here in your browser</Link>
      </p>
    </Bed>
  );
}
