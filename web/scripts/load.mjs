// What the first page of a real hub costs a real browser: bytes that travel, requests, and the time until it says what runs now.
// Each figure beside that of a page with nothing on it, from the same hub in the same browser.
//   GLEANER=path/of/gleaner node scripts/load.mjs
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "@playwright/test";

const RUNS = 11;
const LINES = {
  "on the same machine": null,
  // As browsers' own tools call it: fast 4G.
  "at 9 Mbit/s and 165 ms": { offline: false, latency: 165, downloadThroughput: 9_000_000 / 8, uploadThroughput: 1_500_000 / 8 },
};
const program = process.env.GLEANER;
if (!program) throw new Error("name the program in GLEANER");

/** Loads an address with an empty cache, or once more with what is cached. */
async function load(browser, url, ready, line, again) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  if (line) await session.send("Network.emulateNetworkConditions", line);
  let [bytes, requests] = [0, 0];
  session.on("Network.responseReceived", ({ response }) => (requests += response.fromDiskCache ? 0 : 1));
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  for (let round = again ? 1 : 0; round >= 0; round--) {
    if (round === 0 && again) {
      await page.goto("about:blank");
      [bytes, requests] = [0, 0];
    }
    await page.goto(url, { waitUntil: "commit" });
    await page.waitForSelector(ready);
    if (round > 0) await page.waitForLoadState("networkidle");
  }
  const shown = await page.evaluate(() => performance.now());
  const first = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN);
  await page.waitForLoadState("networkidle");
  await context.close();
  return { bytes, requests, first, shown };
}

function middle(values) {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)];
}

async function measure(browser, url, ready, line, again = false) {
  const loads = [];
  for (let run = 0; run < RUNS; run++) loads.push(await load(browser, url, ready, line, again));
  const of = (name) => middle(loads.map((one) => one[name]));
  return { bytes: of("bytes"), requests: of("requests"), first: of("first"), shown: of("shown") };
}

function row(name, one) {
  const cells = [name, `${(one.bytes / 1000).toFixed(1)} kB`, `${one.requests}`, `${Math.round(one.first)} ms`, `${Math.round(one.shown)} ms`];
  console.log(`| ${cells.join(" | ")} |`);
}

const folder = mkdtempSync(join(tmpdir(), "gleaner-load-"));
const hub = spawn(program, ["--dir", folder, "up", "--workers", "1", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
const ended = new Promise((done) => hub.once("exit", done));
try {
  const url = await new Promise((found, failed) => {
    createInterface({ input: hub.stdout }).once("line", found);
    hub.once("exit", (code) => failed(new Error(`the network ended: ${code}`)));
  });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  console.log("| page | travels | answers | first paint | says what runs |\n|---|---:|---:|---:|---:|");
  for (const [line, conditions] of Object.entries(LINES)) {
    // Loaded once before anything counts: a browser's first page is slower than any other.
    await load(browser, url, ".hero-now strong", null, false);
    row(`the network's, ${line}`, await measure(browser, url, ".hero-now strong", conditions));
    row(`the same once more, ${line}`, await measure(browser, url, ".hero-now strong", conditions, true));
    row(`one with a word on it, ${line}`, await measure(browser, `${url}/healthz`, "body", conditions));
  }
  await browser.close();
} finally {
  hub.kill("SIGINT");
  await ended;
  rmSync(folder, { recursive: true, force: true });
}
