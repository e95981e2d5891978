// Serves the built page with a made-up hub behind it, under the policy that the real one sends. For looking at pages only.
//   npm run build && npm run dev:fake         then open http://127.0.0.1:7799
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { WebSocketServer } from "ws";
import * as jobs from "./jobs.mjs";
import * as world from "./world.mjs";

const PORT = Number(process.env.PORT ?? 7799);
const DIST = join(dirname(fileURLToPath(import.meta.url)), "../dist");
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2", ".json": "application/json" };
let signedIn = process.env.SIGNED_OUT === undefined;
let factor = false;

const page = (items) => ({ items, next: null });
const session = () => ({ account: { id: 1, name: "orchard" }, roles: ["requester", "provider"], csrf: "token", expires_at: Date.now() + 1e7, second_factor: factor });
const problem = (status, code, detail) => ({ status, body: { type: code, code, title: detail, status, detail } });

const range = ([low, expected, high]) => ({ low, expected, high });
const choice = (name, price, finish, sure, binding) => ({
  name,
  price: range(price),
  finish_ms: range(finish),
  sure,
  why: "it rests on 412 earlier tasks like these",
  rests_on: 412,
  binding: binding && { price: binding, until: Date.now() + 600_000 },
});
const quote = () => ({
  quote: "q1",
  name: "harvested field",
  tasks: 40,
  cap: "1",
  choices: [
    choice("cheap", ["0.28", "0.31", "0.35"], [420_000, 500_000, 660_000], "good", "0.372"),
    choice("balanced", ["0.37", "0.42", "0.5"], [150_000, 190_000, 240_000], "fair", "0.504"),
    choice("fast", ["0.5", "0.77", "1.1"], [60_000, 75_000, 95_000], "rough", null),
  ],
  groups: [],
  reasons: [],
});

const ROUTES = [
  ["GET", /^\/session$/, () => (signedIn ? session() : problem(401, "unauthorized", "you are not signed in"))],
  ["DELETE", /^\/session$/, () => ((signedIn = false), null)],
  ["POST", /^\/(session|accounts)$/, () => ((signedIn = true), session())],
  ["GET", /^\/status$/, () => world.status(jobs.jobs())],
  ["GET", /^\/health$/, () => ({ accepting: true, reason: null, version: "0.1.0", workers_online: 80, jobs_running: 13 })],
  ["GET", /^\/prices$/, (_, query) => (query.get("class") ? world.history(query.get("class")) : world.prices())],
  ["GET", /^\/workers$/, (_, query) => page(world.workers().filter((one) => !query.get("device") || one.offer.devices[0].kind === query.get("device")))],
  ["GET", /^\/machines$/, () => page(world.machines())],
  ["GET", /^\/machines\/(\d+)\/earnings$/, (_, query) => world.earnings(Number(query.get("from")), Number(query.get("to")))],
  ["PUT", /^\/machines\/(\d+)\/settings$/, () => null],
  ["POST", /^\/machines\/(\d+)\/(pause|resume)$/, () => null],
  ["GET", /^\/jobs$/, (_, query) => page(jobs.jobs().filter((one) => !query.get("state") || one.state === query.get("state")))],
  ["GET", /^\/jobs\/(\d+)$/, ([id]) => jobs.view(Number(id)) ?? problem(404, "not-found", "there is no such job")],
  ["GET", /^\/jobs\/(\d+)\/explain$/, ([id]) => jobs.explain(Number(id))],
  ["GET", /^\/jobs\/(\d+)\/attempts$/, ([id]) => ({ job: Number(id), items: Number(id) === 42 ? jobs.attempts() : [], not_listed: 0 })],
  ["GET", /^\/jobs\/(\d+)\/proofs$/, ([id]) => jobs.receipts(Number(id))],
  ["GET", /^\/desk\/jobs\/(\d+)\/results$/, ([id]) => jobs.results(Number(id))],
  ["GET", /^\/desk\/jobs\/(\d+)\/dispute$/, ([id]) => (Number(id) === 33 ? { state: "proposed", step: "challenge", claimed: "0.8", delivered: "0.5", bond: "0.05", until: Math.round(Date.now() / 1000) + 5e4 } : { state: "settled", step: "nothing", claimed: null, delivered: null, bond: "0", until: null })],
  ["POST", /^\/desk\/quote$/, quote],
  ["POST", /^\/desk\/jobs$/, () => ({ job: 42, tasks: 40, reserved: "1", deposited: "0", order: null })],
  ["GET", /^\/desk\/wallet$/, () => ({ address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", balance: "41.5", deposited: "12.25", locked: "7", open_orders: 2, faucet: true, chain: true })],
  ["GET", /^\/desk\/invoices$/, () => page(jobs.jobs().map((one) => ({ job: one.id, name: one.name, choice: null, template: null, submitted_at: one.submitted_at, ended_at: one.ended_at, state: one.state, cap: one.price_max, paid: one.ended_at ? one.spent : null, fee: one.ended_at ? (Number(one.spent) * 0.15).toFixed(6) : null, refunded: one.ended_at ? (Number(one.price_max) - Number(one.spent)).toFixed(6) : null, order: null, transaction: null, settled_at: null, note: null })))],
  ["GET", /^\/desk\/wallet\/history$/, () => page(["deposited", "locked", "refunded", "received"].map((kind, index) => ({ time: Math.round(Date.now() / 1000) - index * 4000, block: 90 - index, transaction: `0x${"ab12".repeat(16)}`, index, kind, amount: String(12 / (index + 1)), with: null })))],
  ["GET", /^\/desk\/wallet\/overdue$/, () => ({ amount: "2.1", orders: 1, next_deadline: null })],
  ["GET", /^\/desk\/rewards$/, () => ({ due: "0.75", next: null, items: [["published", "0.31", false, false], ["final", "0.75", false, true], ["final", "0.4", true, false]].map(([stage, share, claimed, due], index) => ({ epoch: 12 - index, stage, total: "574.9", share, claimed, due, final_at: Math.round(Date.now() / 1000) + 4e4 - index * 6e5, right: true })) })],
  ["GET", /^\/desk\/stake$/, () => ({ tokens: "41.5", total: "30", locked: "3", free: "27", unbonding: "15", ready_at: Math.round(Date.now() / 1000) + 2e5, ready: false, unbonding_delay: 604_800, minimum: "10", allowed: "30", verdict_max: "0.5", at_risk: "1.5", auditor: false })],
  ["GET", /^\/desk\/votes$/, () => ({ address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", tokens: "41.5", votes: "41.5", delegate: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", next: null, items: [["active", false], ["executed", true]].map(([stage, voted], index) => ({ id: `0x${"3f".repeat(31)}0${index}`, stage, proposer: "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", acts: [{ kind: "set", parameter: "platformShareBps", value: String(1200 + index * 300) }], why: "Cheaper work, and more of it", vote_start: Math.round(Date.now() / 1000) - 9e4 - index * 1e6, vote_end: Math.round(Date.now() / 1000) + 4e5 - index * 1e6, votes_for: "1204000", votes_against: "300500", quorum: "2000000", ready_at: null, own_votes: "41.5", voted })) })],
  ["POST", /^\/desk\/jobs\/\d+\/dispute$/, () => ({ step: "challenge", block: 91 })],
  ["POST", /^\/desk\/(wallet|rewards|stake|votes)\/\w+$/, () => ({ amount: "1", votes: "1", block: 91 })],
  ["GET", /^\/files$/, () => page([{ name: "path-tracer", files: 4, bytes: 182_044, modified_at: Date.now() - 4e6 }, { name: "measurements", files: 128, bytes: 1.07e9, modified_at: Date.now() - 9e7 }])],
  ["GET", /^\/datasets$/, () => page([["pushed", "ab"], ["input", "cd"], ["output", "ef"]].map(([kind, id], index) => ({ data: { root: { id: id.repeat(32), bytes: 900 }, bytes: 3e8 / (index + 1) }, kind, label: "", chunks: 300, held: index === 0 ? 150 : 300, machines: 2, made_ms: Date.now() - index * 4e6, owner: "orchard", until_ms: index === 0 ? null : Date.now() + 8e7 })))],
  ["GET", /^\/catalogue$/, () => page(world.templates())],
  ["GET", /^\/catalogue\/([^/]+)$/, ([name]) => world.templates().find((one) => one.name === name) ?? problem(404, "not-found", "there is no such template")],
  ["POST", /^\/catalogue\/([^/]+)\/render$/, () => ({ job: world.templates()[0].job.replaceAll("{{scene}}", "scene.blend").replaceAll("{{frame}}", "1").replaceAll("{{samples}}", "128").replaceAll("{{tiles}}", "4") })],
  ["POST", /^\/account\/totp$/, () => ({ secret: "JBSWY3DPEHPK3PXP", uri: "otpauth://totp/Gleaner:orchard?secret=JBSWY3DPEHPK3PXP&issuer=Gleaner" })],
  ["POST", /^\/account\/totp\/confirm$/, () => ((factor = true), { recovery_codes: Array.from({ length: 8 }, (_, index) => createHash("sha256").update(String(index)).digest("hex").slice(0, 10)) })],
  ["GET", /^\/account\/tokens$/, () => page([{ id: 1, label: "notebook", hint: "glt_1a2b", scopes: { read: true, submit: true, provide: false, spend: "25" }, spent: "3.2", made_at: Date.now() - 1e9, used_at: Date.now() - 6e5, ends_at: Date.now() + 1e9 }])],
  ["POST", /^\/account\/tokens$/, () => ({ token: { id: 2 }, text: "glt_9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" })],
  ["GET", /^\/webhooks$/, () => page([{ id: 1, url: "https://hooks.example.org/gleaner", events: ["job.done", "job.failed"], requester: null, waiting: 1, created_at: Date.now() - 4e8 }])],
  ["GET", /^\/webhooks\/(\d+)\/deliveries$/, () => page([["waiting", null, "nobody answers there"], ["delivered", 204, null]].map(([state, status, error], index) => ({ id: 9 - index, job: 42 - index, event: "job.done", state, status, error, tries: 2 - index, created_at: Date.now() - 6e5, tried_at: Date.now() - 3e5, next_at: index === 0 ? Date.now() + 6e5 : null })))],
  ["GET", /^\/cases$/, (_, query) => (query.get("job") ? [] : [{ stage: "slashed" }, { stage: "open", seats: 5, voted: 2, ends: Math.round(Date.now() / 1000) + 3600 }, { stage: "acquitted" }].map((stage, index) => ({ stage, dispute: 7 - index, evidence: `${index}bc`.padEnd(64, "d"), job: 41 - index, provider: `0x${String(index).repeat(40)}`, taken: index === 0 ? "12.5" : "0", transaction: index === 0 ? "e".repeat(64) : null })))],
  ["GET", /^\/account\/sessions$/, () => page([{ id: "a", via: "second-factor", address: "192.0.2.7", made_at: Date.now() - 3e6, seen_at: Date.now(), ends_at: Date.now() + 1e7, current: true }, { id: "b", via: "passkey", address: "198.51.100.20", made_at: Date.now() - 3e8, seen_at: Date.now() - 4e7, ends_at: Date.now() + 1e6, current: false }])],
  ["GET", /^\/account\/passkeys$/, () => page([{ id: "k", label: "laptop", made_at: Date.now() - 1e9, used_at: Date.now() - 4e7 }])],
  ["GET", /^\/account\/wallets$/, () => page([{ address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", made_at: Date.now() - 1e9 }])],
  ["GET", /^\/account\/events$/, () => page(["signed-in", "token-made", "sign-in-failed", "totp-on", "passkey-added", "account-made"].map((kind, id) => ({ id, at: Date.now() - id * 8e6, kind, address: "192.0.2.7", detail: kind === "token-made" ? "notebook: read, submit, spend 25 GLN" : "" })))],
];

const server = createServer(async (request, response) => {
  const url = new URL(request.url, "http://hub");
  if (!url.pathname.startsWith("/api/v1")) return serve(url.pathname, response);
  const path = url.pathname.slice("/api/v1".length);
  for await (const _ of request);
  const logs = /^\/jobs\/(\d+)\/logs$/.exec(path);
  if (logs) return response.writeHead(200, { "content-type": "application/x-ndjson" }).end(jobs.log(Number(logs[1])).map((line) => `${JSON.stringify(line)}\n`).join(""));
  if (path.endsWith("/preview/render")) return response.writeHead(200, { "content-type": "image/png" }).end(readFileSync(join(DIST, "../../docs/images/demo.png")));
  const opened = /^\/desk\/jobs\/(\d+)\/results\/([^/]+)\/(\d+)\/(.+)$/.exec(path);
  if (opened) return result(response, opened);
  for (const [method, pattern, answer] of ROUTES) {
    const match = pattern.exec(path);
    if (!match || method !== request.method) continue;
    const found = answer(match.slice(1), url.searchParams);
    const status = found?.body ? found.status : 200;
    return response.writeHead(status, { "content-type": "application/json" }).end(found === null ? "" : JSON.stringify(found?.body ?? found));
  }
  response.writeHead(404, { "content-type": "application/problem+json" }).end(JSON.stringify(problem(404, "not-found", `${request.method} ${path} is not made up yet`).body));
});

function result(response, [, , task, index, path]) {
  if (path === "loss.csv") return response.end(["step,loss", ...Array.from({ length: 40 }, (_, step) => `${step * 50},${(2.2 * Math.exp(-step / 12) + 0.3 + index * 0.05).toFixed(4)}`)].join("\n"));
  return response.end(path === "out" ? `${664 + Number(index)}\n` : "trained for 2000 steps\nbest loss 0.311 at step 1850\n");
}

function serve(path, response) {
  const wanted = normalize(path).replace(/^(\.\.[/\\])+/, "");
  const file = wanted !== "/" && existsSync(join(DIST, wanted)) ? wanted : "/index.html";
  response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream", "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'" });
  response.end(readFileSync(join(DIST, file)));
}

const sockets = new WebSocketServer({ noServer: true });
server.on("upgrade", (request, socket, head) => sockets.handleUpgrade(request, socket, head, () => {}));
server.listen(PORT, "127.0.0.1", () => console.log(`http://127.0.0.1:${PORT}`));
