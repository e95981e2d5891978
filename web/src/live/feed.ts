// Carries live events into the cache of answers.
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import * as queries from "../api/queries";
import type { MachineView, Page } from "../api/pending";
import type { JobSummary, JobView, Live, WorkerView } from "../api/views";
import { mergeFailure, mergeJob, mergePages, mergeWorker, readLive } from "./merge";
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

  private take(event: Live): void {
    switch (event.event) {
      case "job":
        return this.job(event);
      case "worker":
        return this.worker(event);
      case "failure":
        this.cache.setQueryData<JobView>(queries.job(event.job).queryKey, (known) =>
          known ? mergeFailure(known, event.failure) : known,
        );
        return this.refresher.want(JSON.stringify(["job", event.job]));
      case "attempt":
        return this.refresher.want(JSON.stringify(["job", event.job]));
      case "prices":
        return this.refresher.want(JSON.stringify(["prices"]));
      case "status":
        return this.refresher.want(JSON.stringify(["status"]));
      case "missed":
        return void this.cache.invalidateQueries();
    }
  }

  private job(event: JobSummary): void {
    for (const [key] of this.cache.getQueriesData({ queryKey: ["jobs"] }))
      this.cache.setQueryData<InfiniteData<Page<JobSummary>>>(key, (known) =>
        known ? { ...known, pages: mergePages(known.pages, String(key[1]), event) } : known,
      );
    this.cache.setQueryData<JobView>(queries.job(event.id).queryKey, (known) =>
      known ? mergeJob(known, event) : known,
    );
    this.refresher.want(JSON.stringify(["job", event.id]));
    this.refresher.want(JSON.stringify(["status"]));
    if (event.ended_at) this.refresher.want(JSON.stringify(["wallet"]));
  }

  private worker(event: { id: number; state: WorkerView["state"] }): void {
    for (const [key] of this.cache.getQueriesData({ queryKey: ["workers"] }))
      this.cache.setQueryData<InfiniteData<Page<WorkerView>>>(key, (known) =>
        known ? { ...known, pages: known.pages.map((page) => mergeWorker(page, event)) } : known,
      );
    this.cache.setQueryData<Page<MachineView>>(queries.machines.queryKey, (known) =>
      known ? mergeWorker(known, event) : known,
    );
    this.refresher.want(JSON.stringify(["status"]));
    this.refresher.want(JSON.stringify(["machines"]));
    this.refresher.want(JSON.stringify(["regions"]));
  }
}
