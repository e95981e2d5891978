// One job: what it does now and why, where it runs, what it costs, what it has brought, and why that can be believed.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, useState } from "react";
import { Link } from "wouter";
import * as hub from "../api/hub";
import { Refusal, words } from "../api/http";
import * as queries from "../api/queries";
import type { JobView } from "../api/views";
import { useFollowed } from "../app/live";
import { say } from "../app/toast";
import { share, units } from "../format/amount";
import { counted, progress } from "../format/number";
import { hasEnded } from "../live/merge";
import { Kernels } from "../ui/Kernels";
import { Empty, Head, Tabs, Trouble, Waiting } from "../ui/parts";
import { Sheet } from "../ui/Sheet";
import { Figure, Figures, JobState, Lasting, Money, When } from "../ui/words";
import "../job/job.css";

const Overview = lazy(() => import("../job/Overview"));
const Timeline = lazy(() => import("../job/Timeline"));
const Results = lazy(() => import("../job/Results"));
const Logs = lazy(() => import("../job/Logs"));
const Cost = lazy(() => import("../job/Cost"));
const Receipts = lazy(() => import("../job/Receipts"));

const TABS: [string, string, React.ComponentType<{ job: JobView }>][] = [
  ["overview", "Overview", Overview],
  ["timeline", "Timeline", Timeline],
  ["results", "Results", Results],
  ["logs", "Logs", Logs],
  ["cost", "Cost", Cost],
  ["receipts", "Receipts", Receipts],
];

export default function Job({ id, tab }: { id: number; tab: string }) {
  const job = useQuery(queries.job(id));
  useFollowed(`job:${id}`);
  if (job.error instanceof Refusal && job.error.status === 404)
    return (
      <Empty title={`There is no job ${id} of yours`} action={<Link href="/jobs">Your jobs</Link>}>
        It may be somebody else's, or the hub may have forgotten it.
      </Empty>
    );
  if (job.error && !job.data) return <Trouble error={job.error} again={() => void job.refetch()} />;
  if (!job.data) return <Waiting what="the job" lines={8} />;
  return <Shown job={job.data} tab={tab} />;
}

function Shown({ job, tab }: { job: JobView; tab: string }) {
  const items = TABS.map(([name, text]) => ({ path: name === "overview" ? `/jobs/${job.id}` : `/jobs/${job.id}/${name}`, text }));
  const at = Math.max(0, TABS.findIndex(([name]) => name === tab));
  const Chosen = (TABS[at] as (typeof TABS)[number])[2];
  return (
    <>
      <Head title={job.name} actions={hasEnded(job) ? <Fetch job={job} /> : <Cancel job={job} />}>
        <span className="row">
          <JobState state={job.state} />
          <span>job {job.id}</span>
          <span>
            submitted <When at={job.submitted_at} />
          </span>
        </span>
      </Head>
      <div className="stack">
        <Failed job={job} />
        <Progress job={job} />
        <Tabs label="Parts of this job" items={items} current={(items[at] as { path: string }).path} />
        <Chosen job={job} />
      </div>
    </>
  );
}

function Progress({ job }: { job: JobView }) {
  const unchecked = job.groups.reduce((sum, group) => sum + group.unchecked, 0);
  const used = share(units(job.spent), units(job.price_max));
  const delivered = job.workers.filter((tally) => tally.done > 0).length;
  return (
    <div className="bed job-now">
      <Kernels
        counts={{ ...job, unchecked }}
        columns={50}
        rows={3}
        label={`${job.done} of ${counted(job.tasks, "task")} done, ${unchecked} being checked, ${job.running} running`}
      />
      <Figures>
        <Figure
          label="Done"
          tone="leaf"
          value={progress(job.done, job.tasks)}
          unit={`of ${counted(job.tasks, "task")}`}
          note={job.known > 0 ? `${job.known} needed no run: their results were known` : null}
        />
        {hasEnded(job) ? (
          <Figure label="Ran on" tone="straw" value={delivered} unit={delivered === 1 ? "worker" : "workers"} />
        ) : (
          <Figure label="Running" tone="straw" value={job.running} unit={job.running === 1 ? "attempt" : "attempts"} note={unchecked > 0 ? `${counted(unchecked, "result")} being checked` : null} />
        )}
        <Figure label={hasEnded(job) ? "Took" : "Running for"} value={<Lasting from={job.submitted_at} to={job.ended_at} />} note={job.retried > 0 ? `${counted(job.retried, "attempt")} tried again` : "no attempt failed"} />
        <Figure
          label={hasEnded(job) ? "Cost" : "Cost so far"}
          tone={used > 0.9 ? "poppy" : "straw"}
          value={<Money amount={job.spent} />}
          note={
            <>
              of at most <Money amount={job.price_max} />
            </>
          }
        />
      </Figures>
    </div>
  );
}

function Failed({ job }: { job: JobView }) {
  if (job.state !== "failed") return null;
  return (
    <div className="notice poppy" role="alert">
      <strong>
        {job.task ? `Failed on ${job.task}` : "This job failed"}
        {job.cause ? `: ${job.cause.replaceAll("_", " ")}` : ""}
      </strong>
      <p>{job.reason}</p>
      <p className="soft small">What was not spent has gone back to your wallet.</p>
    </div>
  );
}

function Fetch({ job }: { job: JobView }) {
  if (job.done === 0) return null;
  return (
    <a className="button main" href={hub.archiveAddress(job.id)} download>
      Download results
    </a>
  );
}

function Cancel({ job }: { job: JobView }) {
  const [asked, setAsked] = useState(false);
  const cache = useQueryClient();
  const cancel = async () => {
    setAsked(false);
    try {
      await hub.cancel(job.id);
      say("The job is cancelled.");
    } catch (error) {
      say(words(error));
    }
    await cache.invalidateQueries({ queryKey: ["job", job.id] });
  };
  return (
    <>
      <button type="button" className="button danger" onClick={() => setAsked(true)}>
        Cancel job
      </button>
      {asked ? (
        <Sheet title="Cancel this job?" onClose={() => setAsked(false)}>
          <p>
            {counted(job.done, "task")} done so far stay yours and stay paid. What runs now is stopped, and the rest of{" "}
            <Money amount={job.price_max} /> comes back.
          </p>
          <div className="row">
            <button type="button" className="button danger" onClick={() => void cancel()}>
              Cancel the job
            </button>
            <button type="button" className="button" onClick={() => setAsked(false)}>
              Let it run
            </button>
          </div>
        </Sheet>
      ) : null}
    </>
  );
}
