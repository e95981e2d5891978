import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import * as queries from "../api/queries";
import type { ExplainView, FailureView, JobView } from "../api/views";
import { Contests } from "../court/Contests";
import { counted } from "../format/number";
import { hasEnded } from "../live/merge";
import { Few } from "../ui/Few";
import { Answer, Bed } from "../ui/parts";
import { useNowEvery } from "../ui/now";
import { Pill, When } from "../ui/words";
import { Mosaic } from "./Mosaic";
import { Summary } from "./Summary";
import { tilesOf } from "./task";

/** Failures that are shown before somebody asks for all. */
const FAILURES_FIRST = 8;

const Graph = lazy(() => import("./Graph"));

export default function Overview({ job }: { job: JobView }) {
  return (
    <div className="stack">
      {hasEnded(job) ? <Summary job={job} /> : null}
      {job.groups.some((group) => tilesOf(group.extent)) ? <Mosaics job={job} /> : null}
      <Bed title="Tasks" lead={graphLead(job)} flush>
        <Suspense fallback={<div className="graph" />}>
          <Graph job={job} />
        </Suspense>
      </Bed>
      {hasEnded(job) ? null : <Explained job={job} />}
      {job.contests.length > 0 ? <Contests job={job} /> : null}
      {job.failures.length > 0 ? <Failures job={job} /> : null}
    </div>
  );
}

/** Pictures out of tiles, which fill up as those come. */
function Mosaics({ job }: { job: JobView }) {
  const pictures = useQuery(queries.results(job.id)).data?.pictures ?? [];
  return pictures.map((picture) => <Mosaic key={picture.task} picture={picture} />);
}

function graphLead(job: JobView): string {
  const reads = job.groups.some((group) => group.reads.length > 0);
  return reads ? "Each box waits for those on its left. A grain is a task." : "A grain is a task.";
}

function Explained({ job }: { job: JobView }) {
  const explain = useQuery(queries.explain(job.id));
  return (
    <Bed title="What happens now, and why">
      <Answer query={explain} what="the explanation">
        {(view) => <Why view={view} />}
      </Answer>
    </Bed>
  );
}

function Why({ view }: { view: ExplainView }) {
  if (view.state === "ordered") return <p>The job starts as soon as its money is locked on the chain. That takes a few blocks.</p>;
  const nothing = view.waiting.length === 0 && view.running.length === 0;
  if (nothing) return <p className="soft">Nothing waits and nothing runs: results are being checked.</p>;
  return (
    <div className="stack">
      {view.waiting.map((waiting) => (
        <div key={waiting.task} className="why">
          <Pill tone="corn">waiting</Pill>
          <div>
            <strong>
              {counted(waiting.queued, "task")} of {waiting.task}
            </strong>
            <ul>
              {waiting.reasons.map((reason) => (
                <li key={reason.code + reason.text}>
                  {reason.devices !== null ? <span className="soft">{counted(reason.devices, "device")}: </span> : null}
                  {reason.text}
                </li>
              ))}
            </ul>
          </div>
        </div>
      ))}
      {view.running.map((running) => (
        <div key={running.attempt} className="why">
          <Pill tone="straw" live>
            running
          </Pill>
          <div>
            <strong>
              {running.task} on {running.worker}
            </strong>
            {running.second ? <span className="soft"> (a second attempt beside a slow one)</span> : null}
            <p className="soft">
              Since <When at={running.since} />
              {running.expected_at ? (
                <Due at={running.expected_at} />
              ) : (
                ", nobody knows yet how long such a task takes"
              )}
              . {sentence(running.why)}
            </p>
          </div>
        </div>
      ))}
      {view.running_more > 0 ? <p className="soft">and {counted(view.running_more, "more attempt")}.</p> : null}
    </div>
  );
}

/** When it should be done; late ones are not said to be done. */
function Due({ at }: { at: number }) {
  const now = useNowEvery(5);
  if (at < now - 5000) return <>, and should have been done by now: it takes longer than usual</>;
  return at < now + 10_000 ? (
    <>, should be done any moment</>
  ) : (
    <>
      , should be done <When at={at} />
    </>
  );
}

function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

function Failures({ job }: { job: JobView }) {
  return (
    <Bed title="What failed, and what came of it">
      <div className="stack">
        <Few items={[...job.failures].reverse()} first={FAILURES_FIRST} what="failures">
          {(shown) => <FailureList failures={shown} />}
        </Few>
      </div>
    </Bed>
  );
}

function FailureList({ failures }: { failures: FailureView[] }) {
  return (
    <ul className="stack">
      {failures.map((failure) => (
        <li key={failure.attempt} className="why">
          <Pill tone="poppy">{failure.cause.replaceAll("_", " ")}</Pill>
          <div>
            <strong>
              {failure.task} on {failure.worker}
            </strong>{" "}
            <span className="faint">
              <When at={failure.at} />
            </span>
            <p className="wrap-anywhere">{sentence(failure.detail)}</p>
            <p className="soft">{sentence(failure.consequence)}</p>
          </div>
        </li>
      ))}
    </ul>
  );
}
