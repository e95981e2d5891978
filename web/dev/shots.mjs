// Looks at every page of the made-up hub in a real browser: pictures by day, by night and on a phone, what the console says, and
// what an accessibility check finds. For developing; the tests of the product run against a real hub.
//   node dev/shots.mjs [part of a page's name …]
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "@playwright/test";

const PORT = 7798;
const PAGES = {
  network: "/",
  market: "/market",
  catalogue: "/catalogue",
  template: "/catalogue/blender-still",
  publish: "/catalogue/publish",
  jobs: "/jobs",
  "new-job": "/jobs/new",
  job: "/jobs/42",
  "job-graph": "/jobs/41",
  "job-failed": "/jobs/33",
  "job-timeline": "/jobs/42/timeline",
  "job-results": "/jobs/42/results",
  "job-curves": "/jobs/33/results",
  "job-logs": "/jobs/42/logs",
  "job-cost": "/jobs/42/cost",
  "job-dispute": "/jobs/33/cost",
  "job-receipts": "/jobs/42/receipts",
  files: "/files",
  wallet: "/wallet",
  machines: "/machines",
  machine: "/machines/2",
  earnings: "/earnings",
  stake: "/stake",
  account: "/account",
  tokens: "/account/tokens",
  webhooks: "/account/webhooks",
  cases: "/cases",
  sessions: "/account/sessions",
  log: "/account/log",
  lost: "/nowhere",
};
const VIEWS = {
  day: { viewport: { width: 1360, height: 860 }, colorScheme: "light" },
  night: { viewport: { width: 1360, height: 860 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: "light", isMobile: true, hasTouch: true, deviceScaleFactor: 1 },
};
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const wanted = process.argv.slice(2);
const views = (process.env.VIEWS ?? Object.keys(VIEWS).join()).split(",");

const server = spawn(process.execPath, [new URL("server.mjs", import.meta.url).pathname], { env: { ...process.env, PORT }, stdio: ["ignore", "pipe", "inherit"] });
await new Promise((resolve) => server.stdout.once("data", resolve));
mkdirSync("shots", { recursive: true });
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });

async function shoot(name, path, view) {
  const context = await browser.newContext({ ...VIEWS[view], reducedMotion: "reduce" });
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  await page.goto(`http://127.0.0.1:${PORT}${path}`, { waitUntil: "networkidle" });
  await page.screenshot({ path: `shots/${name}-${view}.png`, fullPage: true });
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  for (const text of said) console.log(`${name} ${view}: console: ${text.slice(0, 300)}`);
  for (const one of violations) console.log(`${name} ${view}: ${one.id} (${one.impact}): ${one.nodes.slice(0, 3).map((node) => `${node.target.join(" ")} ${node.failureSummary?.split("\n")[1]?.trim() ?? ""}`).join(" | ")}`);
  if (wide > 0) console.log(`${name} ${view}: ${wide} pixels too wide`);
  await context.close();
}

for (const [name, path] of Object.entries(PAGES))
  if (wanted.length === 0 || wanted.some((part) => name.includes(part))) for (const view of views) await shoot(name, path, view).catch((error) => console.log(`${name} ${view}: ${error.message}`));
await browser.close();
server.kill();
