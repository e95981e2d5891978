// What is asked of the hub, under which name it is kept, and how fresh it has to be.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import * as hub from "./hub";
import { setCsrf } from "./http";

/** How long an answer counts as fresh while live events keep it so. */
const LIVE_MS = 30_000;

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

/** The most pages of results that are looked at. */
const PAGES_MAX = 10;

/** The results of a job, as far as a page can show them. */
export const results = ofJob("results", async (id) => {
  const first = await hub.results(id);
  const found = { items: [...first.items], pictures: [...first.pictures], more: false };
  for (let next = first.next, pages = 1; next; pages++) {
    if (pages === PAGES_MAX) return { ...found, more: true };
    const page = await hub.results(id, next);
    found.items.push(...page.items);
    found.pictures.push(...page.pictures);
    next = page.next;
  }
  return found;
});

export const machines = queryOptions({
  queryKey: ["machines"],
  queryFn: hub.machines,
  staleTime: 5000,
  refetchInterval: 15_000,
});
export const earnings = (worker: number, days: number) =>
  queryOptions({
    queryKey: ["earnings", worker, days],
    queryFn: () => hub.earnings(worker, Date.now() - days * 86_400_000, Date.now()),
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

export const catalogue = queryOptions({ queryKey: ["catalogue"], queryFn: hub.catalogue, staleTime: 60_000 });
export const template = (name: string) =>
  queryOptions({ queryKey: ["catalogue", name], queryFn: () => hub.template(name), staleTime: 60_000 });

export const wallet = queryOptions({ queryKey: ["wallet"], queryFn: hub.wallet, staleTime: 5000 });
export const walletHistory = queryOptions({ queryKey: ["wallet", "history"], queryFn: hub.walletHistory, staleTime: 5000 });
export const invoices = queryOptions({ queryKey: ["invoices"], queryFn: () => hub.invoices(), staleTime: 10_000 });
export const files = queryOptions({ queryKey: ["files"], queryFn: hub.files, staleTime: 5000 });

export const tokens = queryOptions({ queryKey: ["account", "tokens"], queryFn: hub.tokens });
export const sessions = queryOptions({ queryKey: ["account", "sessions"], queryFn: hub.sessions });
export const passkeys = queryOptions({ queryKey: ["account", "passkeys"], queryFn: hub.passkeys });
export const linkedWallets = queryOptions({ queryKey: ["account", "wallets"], queryFn: hub.wallets });
export const securityEvents = infiniteQueryOptions({
  queryKey: ["account", "events"],
  queryFn: ({ pageParam }) => hub.securityEvents(pageParam),
  initialPageParam: null as string | null,
  getNextPageParam: (last) => last.next,
});
