// Every route that the page uses. No other module knows an address.
import { address, ask, type Asked, call, callAt, part, parts, question, Refusal, refusal, send } from "./http";
import type * as views from "./views";

const post = (json: unknown = {}, headers?: Record<string, string>): Asked => ({ method: "POST", json, headers });
const remove: Asked = { method: "DELETE" };

// Signing in

export async function session(): Promise<views.Session | null> {
  try {
    return await ask<views.Session>("/session");
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) return null;
    throw error;
  }
}

export const signUp = (name: string, passphrase: string) => ask<unknown>("/accounts", post({ name, passphrase }));
export const signIn = (name: string, passphrase: string, code?: string) =>
  ask<unknown>("/session", post({ name, passphrase, ...(code ? { code } : {}) }));
export const signOut = () => ask<unknown>("/session", remove);
export const walletChallenge = (owner: string) =>
  ask<{ message: string; nonce: string }>("/session/wallet/challenge", post({ address: owner }));
export const walletSignIn = (message: string, signature: string, code?: string) =>
  ask<unknown>("/session/wallet", post({ message, signature, ...(code ? { code } : {}) }));
export const passkeyChallenge = () => ask<unknown>("/session/passkey/challenge", post());
export const signInByLink = (code: string) => ask<unknown>("/session/link", post({ code }));
export const passkeySignIn = (credential: unknown) => ask<unknown>("/session/passkey", post({ credential }));

// The account

export const wallets = () => ask<views.Page<views.LinkedWallet>>("/account/wallets");
export const linkWallet = (message: string, signature: string) =>
  ask<unknown>("/account/wallets", post({ message, signature }));
export const unlinkWallet = (owner: string) => ask<unknown>(`/account/wallets/${part(owner)}`, remove);
export const passkeys = () => ask<views.Page<views.PasskeyView>>("/account/passkeys");
export const newPasskeyChallenge = () => ask<unknown>("/account/passkeys/challenge", post());
export const addPasskey = (label: string, credential: unknown) =>
  ask<unknown>("/account/passkeys", post({ label, credential }));
export const removePasskey = (id: string) => ask<unknown>(`/account/passkeys/${part(id)}`, remove);
export const startTotp = () => ask<{ secret: string; uri: string }>("/account/totp", post());
export const confirmTotp = (code: string) =>
  ask<{ recovery_codes: string[] }>("/account/totp/confirm", post({ code }));
export const endTotp = (code: string) => ask<unknown>("/account/totp", { method: "DELETE", json: { code } });
export const tokens = () => ask<views.Page<views.TokenView>>("/account/tokens");
export const makeToken = (wanted: views.TokenWanted) => ask<views.TokenMade>("/account/tokens", post(wanted));
export const removeToken = (id: number) => ask<unknown>(`/account/tokens/${part(id)}`, remove);
export const sessions = () => ask<views.Page<views.SessionView>>("/account/sessions");
export const endSession = (id: string) => ask<unknown>(`/account/sessions/${part(id)}`, remove);
export const endOtherSessions = () => ask<unknown>("/account/sessions", remove);
export const changePassphrase = (old: string, passphrase: string) =>
  ask<unknown>("/account/passphrase", { method: "PUT", json: { ...(old ? { old } : {}), new: passphrase } });
export const securityEvents = (cursor?: string | null) =>
  ask<views.Page<views.SecurityEvent>>(`/account/events${question({ cursor })}`);

export const webhooks = (cursor?: string | null) => ask<views.Page<views.WebhookView>>(`/webhooks${question({ cursor })}`);
export const makeWebhook = (wanted: views.WebhookWanted) => ask<views.WebhookMade>("/webhooks", post(wanted));
export const removeWebhook = (id: number) => ask<unknown>(`/webhooks/${part(id)}`, remove);
export const deliveries = (id: number) => ask<views.Page<views.DeliveryView>>(`/webhooks/${part(id)}/deliveries`);

// Jobs

export const jobs = (asked: { state?: string; cursor?: string | null; limit?: number }) =>
  ask<views.Page<views.JobSummary>>(`/jobs${question(asked)}`);
export const job = (id: number) => ask<views.JobView>(`/jobs/${id}`);
export const explain = (id: number) => ask<views.ExplainView>(`/jobs/${id}/explain`);
export const attempts = (id: number) => ask<views.AttemptsView>(`/jobs/${id}/attempts`);
/** Receipts as the hub wrote them, every digit of them. */
export const proofs = async (id: number, first: number, count: number) => (await call(`/jobs/${id}/proofs${question({ first, count })}`)).text();
export const cancel = (id: number) => ask<unknown>(`/jobs/${id}/cancel`, post());

/** The log of a job after so many lines, one JSON object a line; it stays open until the job has ended. */
export async function followLogs(id: number, after: number, signal: AbortSignal): Promise<ReadableStream<Uint8Array> | null> {
  const response = await call(`/jobs/${id}/logs${question({ follow: true, after: after || undefined })}`, { signal });
  return response.body;
}

// The desk

export const quote = (file: string, folder?: string) =>
  ask<views.DeskQuote>("/desk/quote", post({ job: file, ...(folder ? { folder } : {}) }));
export const submit = (wanted: views.Submission, key: string) =>
  ask<views.Ordered>("/desk/jobs", post(wanted, { "idempotency-key": key }));
export const results = (id: number, cursor?: string | null) => ask<views.ResultItems>(`/desk/jobs/${id}/results${question({ cursor })}`);
export const archiveAddress = (id: number) => address(`/desk/jobs/${id}/archive`);
export const dispute = (id: number) => ask<views.JobDispute>(`/desk/jobs/${id}/dispute`);
/** Has auditors decide what a job is to be paid, or has paid what they decided. */
export const disputeJob = (id: number, key: string) => ask<unknown>(`/desk/jobs/${id}/dispute`, post({}, { "idempotency-key": key }));
export const wallet = () => ask<views.DeskWallet>("/desk/wallet");
export const fillWallet = (key: string) => ask<unknown>("/desk/wallet/faucet", post({}, { "idempotency-key": key }));
export const deposit = (amount: string, key: string) =>
  ask<unknown>("/desk/wallet/deposit", post({ amount }, { "idempotency-key": key }));
/** Takes money out of escrow: into the account's own wallet, or to an address. */
export const withdraw = (amount: string, key: string, to?: string) =>
  ask<unknown>("/desk/wallet/withdraw", post({ amount, ...(to ? { to } : {}) }, { "idempotency-key": key }));
export const walletHistory = () => ask<views.Page<views.WalletLine>>("/desk/wallet/history");
export const overdue = () => ask<views.Overdue>("/desk/wallet/overdue");
export const release = (key: string) => ask<unknown>("/desk/wallet/release", post({}, { "idempotency-key": key }));
export const rewards = () => ask<views.NodeRewards>("/desk/rewards");
export const claimRewards = (key: string) => ask<unknown>("/desk/rewards/claim", post({}, { "idempotency-key": key }));
export const stake = () => ask<views.DeskStake>("/desk/stake");
/** Stakes tokens; `allow` lets the hub lock them while work depends on them. */
export const addStake = (amount: string, allow: boolean, key: string) =>
  ask<unknown>("/desk/stake/add", post({ amount, allow }, { "idempotency-key": key }));
export const unbondStake = (amount: string, key: string) =>
  ask<unknown>("/desk/stake/unbond", post({ amount }, { "idempotency-key": key }));
export const claimStake = (key: string) => ask<unknown>("/desk/stake/claim", post({}, { "idempotency-key": key }));
export const votes = () => ask<views.DeskVotes>("/desk/votes");
export const castVote = (proposal: string, choice: views.VoteChoice, key: string) =>
  ask<unknown>("/desk/votes/cast", post({ proposal, choice }, { "idempotency-key": key }));
/** Makes votes of the account's tokens, or gives them to an address. */
export const delegate = (key: string, to?: string) =>
  ask<unknown>("/desk/votes/delegate", post(to ? { to } : {}, { "idempotency-key": key }));
export const invoices = (cursor?: string | null) =>
  ask<views.Page<views.Invoice>>(`/desk/invoices${question({ cursor })}`);
export const invoicesAddress = () => address("/desk/invoices.csv");

// Files

export const files = () => ask<views.Page<views.FileTree>>("/files");
export const removeFiles = (name: string) => ask<unknown>(`/files/${part(name)}`, remove);
export const datasets = (cursor?: string | null) => ask<views.Page<views.DatasetView>>(`/datasets${question({ cursor })}`);
export const removeDataset = (root: string) => ask<unknown>(`/datasets/${part(root)}/remove`, post());

/** How many bytes of a file the hub has already. */
export async function arrived(name: string, path: string, modified: number): Promise<number> {
  const response = await send(`/files/${part(name)}/${parts(path)}${question({ modified })}`, { method: "HEAD" });
  if (response.status === 401) throw new Refusal(401, "unauthorized", "you are not signed in", "");
  return Number(response.headers.get("upload-offset") ?? 0);
}

/** Brings a piece of a file; where the file stands then. */
export async function bring(name: string, path: string, modified: number, piece: Piece): Promise<number> {
  const range: Record<string, string> =
    piece.total > 0 ? { "content-range": `bytes ${piece.first}-${piece.first + piece.bytes.size - 1}/${piece.total}` } : {};
  const response = await send(`/files/${part(name)}/${parts(path)}${question({ modified })}`, {
    method: "PUT",
    body: piece.bytes,
    headers: { "content-type": "application/octet-stream", ...range },
    signal: piece.signal,
  });
  const offset = response.headers.get("upload-offset");
  if (response.status === 409 && offset !== null) return Number(offset);
  if (!response.ok) throw await refusal(response);
  return Number(offset ?? piece.first + piece.bytes.size);
}

export interface Piece {
  bytes: Blob;
  first: number;
  total: number;
  signal?: AbortSignal;
}

// Machines

export const machines = (cursor?: string | null) =>
  ask<views.Page<views.MachineView>>(`/machines${question({ cursor, limit: 200 })}`);
/** Hours of a machine, oldest first. One page has room for more than a year of them. */
export const earnings = (worker: number, from: number, to: number, cursor?: string | null) =>
  ask<views.EarningsView>(`/machines/${worker}/earnings${question({ from, to, cursor, limit: 10_000 })}`);
export const setMachine = (worker: number, settings: { price?: string; hours?: string }) =>
  ask<unknown>(`/machines/${worker}/settings`, { method: "PUT", json: settings });
export const pause = (worker: number) => ask<unknown>(`/machines/${worker}/pause`, post());
/** Gives a machine up: it is the account's no more, unless it connects with one of its tokens again. */
export const giveUp = (worker: number) => ask<unknown>(`/machines/${worker}`, remove);
export const resume = (worker: number) => ask<unknown>(`/machines/${worker}/resume`, post());

/** Providers that were found wrong, in one job or in all. */
export const cases = (job?: number) => ask<views.CaseView[]>(`/cases${question({ job })}`);
/** The document behind a penalty or a case. */
export const evidenceAddress = (hash: string) => address(`/evidence/${part(hash)}`);

// The network, for everybody

export const health = () => ask<views.Health>("/health");
export const status = () => ask<views.StatusHistory>("/status");
export const prices = () => ask<views.PriceView[]>("/prices");
export const priceHistory = (name: string) => ask<views.PriceHistory>(`/prices${question({ class: name })}`);
export const workers = (asked: WorkersAsked) => ask<views.WorkersPage>(`/workers${question({ ...asked })}`);

export interface WorkersAsked {
  device?: string;
  memory_min?: string;
  region?: string;
  price_max?: string;
  score_min?: string;
  sort?: string;
  cursor?: string | null;
  limit?: number;
}

// The catalogue

export const catalogue = (kind: string, cursor?: string | null) =>
  ask<views.Page<views.Template>>(`/catalogue${question({ kind, cursor })}`);
export const template = (name: string) => ask<views.Template>(`/catalogue/${part(name)}`);
export const publish = (wanted: views.Publication) => ask<views.Template>("/catalogue", post(wanted));
export const unpublish = (name: string) => ask<unknown>(`/catalogue/${part(name)}`, remove);
export const render = (name: string, inputs: Record<string, unknown>) =>
  ask<views.Rendered>(`/catalogue/${part(name)}/render`, post({ inputs }));

/** Where live state comes from. */
export function liveAddress(location: { protocol: string; host: string }): string {
  return `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}${address("/live")}`;
}

/** A result as text. */
export async function resultText(item: views.ResultItem): Promise<string> {
  const response = await callAt(item.href);
  return response.text();
}
