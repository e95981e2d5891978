// What is asked of the hub, under which name it is kept, and how fresh it has to be.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import * as hub from "./hub";
import { setCsrf } from "./http";
import { everyPage } from "./pages";
import type { Invoice } from "./views";

/** How long an answer counts as fresh while live events keep it so. */
const LIVE_MS = 30_000;
/** How often is asked whether an invoice is final. */
const SETTLING_MS = 5000;

/** Whether an invoice will still change. */
export function isOpen(invoice: Invoice): boolean {
  return invoice.paid === null && invoice.state !== "lost";
}

export const session = queryOptions({
  queryKey: ["session"],
  queryFn: async () => {
    const found = await hub.session();
    setCsrf(found?.csrf ?? null);
    return found;
  },
  staleTime: 60_000,
});

export const jobs = (state: string) =>
  infiniteQueryOptions({
    queryKey: ["jobs", state],
    queryFn: ({ pageParam }) => hub.jobs({ state, cursor: pageParam, limit: 50 }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    staleTime: LIVE_MS,
  });

const ofJob = <T>(name: string, ask: (id: number) => Promise<T>) => (id: number) =>
  queryOptions({ queryKey: ["job", id, name], queryFn: () => ask(id), staleTime: LIVE_MS });

export const job = ofJob("view", hub.job);
export const explain = ofJob("explain", hub.explain);
export const attempts = ofJob("attempts", hub.attempts);

/** Whether there is something to object to; asked again until its money has gone its way. */
export const dispute = (id: number) =>
  queryOptions({
    queryKey: ["wallet", "dispute", id],
    queryFn: () => hub.dispute(id),
    staleTime: 5000,
    refetchInterval: ({ state }) => (state.data && ["none", "locked", "proposed", "disputed"].includes(state.data.state) ? SETTLING_MS : false),
  });

/** The results of a job, as far as a page can show them. */
export const results = ofJob("results", async (id) => {
  const { pages, more } = await everyPage((cursor) => hub.results(id, cursor));
  return { items: pages.flatMap((page) => page.items), pictures: pages.flatMap((page) => page.pictures), more };
});

export const machines = queryOptions({
  queryKey: ["machines"],
  queryFn: async () => {
    const { pages, more } = await everyPage(hub.machines);
    return { items: pages.flatMap((page) => page.items), more };
  },
  staleTime: 5000,
  refetchInterval: 15_000,
});
export const earnings = (worker: number, days: number) =>
  queryOptions({
    queryKey: ["earnings", worker, days],
    queryFn: async () => {
      const to = Date.now();
      const { pages, more } = await everyPage((cursor) => hub.earnings(worker, to - days * 86_400_000, to, cursor));
      return { items: pages.flatMap((page) => page.items), more };
    },
    staleTime: 60_000,
  });

export const health = queryOptions({ queryKey: ["health"], queryFn: hub.health, refetchInterval: 30_000 });
export const status = queryOptions({
  queryKey: ["status"],
  queryFn: hub.status,
  staleTime: 2000,
  refetchInterval: 60_000,
});
export const prices = queryOptions({ queryKey: ["prices"], queryFn: hub.prices, refetchInterval: 60_000 });
export const priceHistory = (name: string) =>
  queryOptions({ queryKey: ["prices", name], queryFn: () => hub.priceHistory(name), refetchInterval: 60_000 });
export const workers = (asked: hub.WorkersAsked) =>
  infiniteQueryOptions({
    queryKey: ["workers", asked],
    queryFn: ({ pageParam }) => hub.workers({ ...asked, cursor: pageParam, limit: 100 }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    staleTime: LIVE_MS,
  });

/** Cases before the court, of one job or of all. Verdicts come from the chain, and no event tells of them. */
export const cases = (job?: number) => queryOptions({ queryKey: ["cases", job ?? "all"], queryFn: () => hub.cases(job), staleTime: 5000, refetchInterval: 30_000 });

export const catalogue = (kind: string) =>
  infiniteQueryOptions({
    queryKey: ["catalogue", "of", kind],
    queryFn: ({ pageParam }) => hub.catalogue(kind, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    staleTime: 60_000,
  });
export const template = (name: string) =>
  queryOptions({ queryKey: ["catalogue", "one", name], queryFn: () => hub.template(name), staleTime: 60_000 });

export const wallet = queryOptions({ queryKey: ["wallet"], queryFn: hub.wallet, staleTime: 5000 });
export const walletHistory = queryOptions({ queryKey: ["wallet", "history"], queryFn: hub.walletHistory, staleTime: 5000 });
/** How often is asked for what time alone changes: stake on its way out, a vote that begins or ends. */
const PASSING_MS = 10_000;
// Whatever moves money asks for all of the wallet again, so these are kept beneath it.
export const stake = queryOptions({
  queryKey: ["wallet", "stake"],
  queryFn: hub.stake,
  staleTime: 5000,
  refetchInterval: ({ state }) => (state.data?.ready_at != null && !state.data.ready ? PASSING_MS : false),
});
export const overdue = queryOptions({ queryKey: ["wallet", "overdue"], queryFn: hub.overdue, staleTime: 5000 });
export const rewards = queryOptions({ queryKey: ["wallet", "rewards"], queryFn: hub.rewards, staleTime: 60_000 });
export const votes = queryOptions({
  queryKey: ["wallet", "votes"],
  queryFn: hub.votes,
  staleTime: 5000,
  refetchInterval: ({ state }) => (state.data?.items.some(({ stage }) => stage === "pending" || stage === "active") ? PASSING_MS : false),
});
export const invoices = infiniteQueryOptions({
  queryKey: ["invoices"],
  queryFn: ({ pageParam }) => hub.invoices(pageParam),
  initialPageParam: null as string | null,
  getNextPageParam: (last) => last.next,
  staleTime: 10_000,
  // A job that has ended is settled a while later, and no event tells of that.
  refetchInterval: ({ state }) => (state.data?.pages.some(({ items }) => items.some(isOpen)) ? SETTLING_MS : false),
});
export const files = queryOptions({ queryKey: ["files"], queryFn: hub.files, staleTime: 5000 });
export const datasets = queryOptions({
  queryKey: ["datasets"],
  queryFn: async () => {
    const { pages, more } = await everyPage(hub.datasets);
    return { items: pages.flatMap((page) => page.items), more };
  },
  staleTime: 5000,
});

export const tokens = queryOptions({ queryKey: ["account", "tokens"], queryFn: hub.tokens });
export const sessions = queryOptions({ queryKey: ["account", "sessions"], queryFn: hub.sessions });
export const passkeys = queryOptions({ queryKey: ["account", "passkeys"], queryFn: hub.passkeys });
export const linkedWallets = queryOptions({ queryKey: ["account", "wallets"], queryFn: hub.wallets });
export const webhooks = queryOptions({
  queryKey: ["account", "webhooks"],
  queryFn: async () => {
    const { pages, more } = await everyPage(hub.webhooks);
    return { items: pages.flatMap((page) => page.items), more };
  },
  refetchInterval: 15_000,
});
export const deliveries = (id: number) => queryOptions({ queryKey: ["account", "webhooks", id], queryFn: () => hub.deliveries(id), refetchInterval: 5000 });
export const securityEvents = infiniteQueryOptions({
  queryKey: ["account", "events"],
  queryFn: ({ pageParam }) => hub.securityEvents(pageParam),
  initialPageParam: null as string | null,
  getNextPageParam: (last) => last.next,
});
