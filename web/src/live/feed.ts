// Carries live events into the cache of answers.
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { AttemptChange, AttemptsView, JobSummary, JobView, LiveEvent, MachineView, Page, StatusHistory, WorkerView } from "../api/views";
import * as queries from "../api/queries";
import { mergeAttempts, mergeFailure, mergeJob, mergePages, mergeWorker, readLive } from "./merge";
import { Refresher } from "./refresh";

/** Feeds a cache. What an event does not carry is asked for again, if a page shows it. */
export class Feed {
  private readonly refresher: Refresher;

  constructor(private readonly cache: QueryClient) {
    this.refresher = new Refresher((name) => void cache.invalidateQueries({ queryKey: JSON.parse(name) as unknown[] }));
  }

  readonly message = (text: string): void => {
    const event = readLive(text);
    if (event) this.take(event);
  };

  readonly opened = (again: boolean): void => {
    // Whatever happened while nobody listened is not told again.
    if (again) void this.cache.invalidateQueries();
  };

  private take(event: LiveEvent): void {
    switch (event.event) {
      case "watching":
        return;
      case "job":
        return this.job(event);
      case "attempts":
        return this.attempts(event.job, event.items, event.more);
      case "failure":
        return this.change<JobView>(queries.job(event.job).queryKey, (known) => mergeFailure(known, event.failure));
      case "worker":
        return this.worker(event);
      case "prices":
        return void this.cache.setQueryData(queries.prices.queryKey, event.items);
      case "status":
        return this.change<StatusHistory>(queries.status.queryKey, (known) => ({ ...event, history: known.history }));
      case "missed":
        return void this.cache.invalidateQueries();
    }
  }

  private change<T>(key: readonly unknown[], merge: (known: T) => T): void {
    this.cache.setQueryData<T>(key, (known) => (known === undefined ? known : merge(known)));
  }

  private refresh(...key: unknown[]): void {
    this.refresher.want(JSON.stringify(key));
  }

  private job(event: JobSummary): void {
    for (const [key] of this.cache.getQueriesData({ queryKey: ["jobs"] }))
      this.change<InfiniteData<Page<JobSummary>>>(key, (known) => ({ ...known, pages: mergePages(known.pages, String(key[1]), event) }));
    this.change<JobView>(queries.job(event.id).queryKey, (known) => mergeJob(known, event));
    for (const part of ["view", "explain", "results", "receipts"]) this.refresh("job", event.id, part);
    if (!event.ended_at) return;
    for (const key of [["job", event.id], ["wallet"], ["invoices"]]) this.refresh(...key);
  }

  private attempts(job: number, changes: AttemptChange[], more: number): void {
    const groups = this.cache.getQueryData<JobView>(queries.job(job).queryKey)?.groups ?? [];
    this.change<AttemptsView>(queries.attempts(job).queryKey, (known) => mergeAttempts(known, groups, changes));
    if (more > 0) this.refresh("job", job, "attempts");
  }

  private worker(event: { id: number; state: WorkerView["state"] }): void {
    for (const [key] of this.cache.getQueriesData({ queryKey: ["workers"] }))
      this.change<InfiniteData<Page<WorkerView>>>(key, (known) => ({ ...known, pages: known.pages.map((page) => mergeWorker(page, event)) }));
    this.change<Page<MachineView>>(queries.machines.queryKey, (known) => mergeWorker(known, event));
    this.refresh("machines");
    this.refresh("earnings", event.id);
  }
}
