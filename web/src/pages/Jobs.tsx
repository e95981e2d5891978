import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link } from "wouter";
import * as queries from "../api/queries";
import type { JobSummary } from "../api/views";
import { share, units } from "../format/amount";
import { counted, progress } from "../format/number";
import { type Column, DataTable } from "../ui/DataTable";
import { Kernels } from "../ui/Kernels";
import { Answer, Bed, Empty, Head, More, Switch } from "../ui/parts";
import { JobState, Lasting, Money, When } from "../ui/words";

const FILTERS = [
  ["", "All"],
  ["running", "Running"],
  ["done", "Done"],
  ["failed", "Failed"],
  ["cancelled", "Cancelled"],
] as const;

const COLUMNS: Column<JobSummary>[] = [
  {
    id: "name",
    head: "Job",
    lead: true,
    by: (job) => job.name,
    cell: (job) => (
      <>
        <Link href={`/jobs/${job.id}`} className="job-link">
          {job.name}
        </Link>{" "}
        <span className="faint small">#{job.id}</span>
      </>
    ),
  },
  { id: "state", head: "State", by: (job) => job.state, cell: (job) => <JobState state={job.state} /> },
  {
    id: "progress",
    head: "Tasks done",
    by: (job) => job.done / Math.max(1, job.tasks),
    cell: (job) => (
      <span className="job-progress">
        <Kernels counts={job} columns={24} label={`${job.done} of ${counted(job.tasks, "task")} done, ${job.running} running`} />
        <span className="small soft nowrap">
          {progress(job.done, job.tasks)} of {counted(job.tasks, "task")}
          {job.retried > 0 ? `, ${job.retried} retried` : ""}
        </span>
      </span>
    ),
  },
  {
    id: "spent",
    head: "Spent of its cap",
    number: true,
    by: (job) => units(job.spent),
    cell: (job) => (
      <span title={`${Math.round(share(units(job.spent), units(job.price_max)) * 100)} % of the cap`}>
        <Money amount={job.spent} /> <span className="faint">of</span> <Money amount={job.price_max} />
      </span>
    ),
  },
  { id: "took", head: "Took", number: true, by: (job) => (job.ended_at ?? Date.now()) - job.submitted_at, cell: (job) => <Lasting from={job.submitted_at} to={job.ended_at} /> },
  { id: "at", head: "Submitted", number: true, by: (job) => job.submitted_at, cell: (job) => <When at={job.submitted_at} /> },
];

export default function Jobs() {
  const [filter, setFilter] = useState<(typeof FILTERS)[number][0]>("");
  const jobs = useInfiniteQuery(queries.jobs(filter));
  const rows = useMemo(() => jobs.data?.pages.flatMap((page) => page.items) ?? [], [jobs.data]);
  return (
    <>
      <Head
        title="Jobs"
        actions={
          <Link href="/jobs/new" className="button main">
            New job
          </Link>
        }
      >
        What you have submitted, and how far it is. This list moves by itself.
      </Head>
      <div className="stack">
        <Switch label="Which jobs" value={filter} choices={FILTERS} onChange={setFilter} />
        <Bed flush>
          <Answer query={jobs} what="jobs" lines={6}>
            {() =>
              rows.length > 0 ? (
                <DataTable rows={rows} columns={COLUMNS} id={(job) => String(job.id)} label="Jobs" />
              ) : filter ? (
                <Empty title={`No job is ${filter}`}>Choose “All” to see the others.</Empty>
              ) : (
                <Empty
                  title="You have no jobs yet"
                  action={
                    <div className="row">
                      <Link href="/jobs/new" className="button main">
                        Drop a folder
                      </Link>
                      <Link href="/catalogue" className="button">
                        Pick a template
                      </Link>
                    </div>
                  }
                >
                  Drop a folder with a job file, or begin with a template. You see the price before anything is paid.
                </Empty>
              )
            }
          </Answer>
        </Bed>
        <More list={jobs} text="Older jobs" />
      </div>
    </>
  );
}
