// What a newcomer does, from signing up to signing out, in a real browser against a real network.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, type Page, test } from "@playwright/test";
import { Hub } from "./hub";
import { totp } from "./keys";
import { complaints, expectToFit, expectUsable, picture } from "./looking";

const EXAMPLES = resolve(import.meta.dirname, "../../examples");
const NAME = "orchard";
const PASSPHRASE = "stubble gleaned at dusk";
const TASKS = 16;
/** Where primes are looked for: so far away that a task takes a second or two. */
const [FAR, LESS_FAR] = ["40000000", "30000000"];

const hub = new Hub();
let page: Page;
let said: string[];
let job = "";

test.describe.configure({ mode: "serial" });

test.beforeAll(async ({ browser }) => {
  await hub.start();
  const context = await browser.newContext({ acceptDownloads: true });
  page = await context.newPage();
  said = complaints(page);
});

test.afterAll(async () => {
  await page.context().close();
  await hub.stop();
});

test.afterEach(() => {
  expect(said).toEqual([]);
});

/** A folder with a job whose tasks run for a moment, so that there is something to watch. */
function jobFolder(): string {
  const folder = join(hub.folder, "primes");
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(EXAMPLES, "array/primes.wasm"), join(folder, "primes.wasm"));
  const file = `name = "primes"

[budget]
price_max = "1 GLN"
time_max = "10m"

[[task]]
name = "primes"
runtime = "wasm"
program = "primes.wasm"
each = "10..${TASKS + 9}"
args = ["${FAR}{index}", "1000000"]
time_max = "2m"
`;
  writeFileSync(join(folder, "job.toml"), file);
  return folder;
}

test("a stranger sees the network, and why its results can be believed", async () => {
  const answer = await page.goto(hub.url);
  const policy = answer?.headers()["content-security-policy"] ?? "";
  expect(policy).toContain("default-src 'self'");
  expect(policy).not.toContain("unsafe-inline");
  await expect(page.getByRole("heading", { name: "Idle GPUs, put to work" })).toBeVisible();
  await expect(page.locator(".hero-now")).toHaveText(/slots ready, none at work|of \d+ slots/);
  await expect(page.getByRole("heading", { name: "Why results can be believed" })).toBeVisible();
  await expectUsable(page, "network");
  await picture(page, "network-stranger");
});

test("what is private asks a stranger to sign in", async () => {
  await page.goto(`${hub.url}/jobs`);
  await expect(page).toHaveURL(/\/sign-in\?then=%2Fjobs/);
  await expectUsable(page, "sign in");
});

test("signing up takes a name and a passphrase", async () => {
  await page.getByRole("link", { name: "Make an account" }).click();
  await page.getByLabel("Name").fill(NAME);
  await page.getByLabel("Passphrase", { exact: true }).fill("too short");
  await expect(page.getByRole("button", { name: "Make the account" })).toBeDisabled();
  await page.getByLabel("Passphrase", { exact: true }).fill(PASSPHRASE);
  await expectUsable(page, "sign up");
  await page.getByRole("button", { name: "Make the account" }).click();
  await expect(page.getByRole("heading", { name: "Jobs" })).toBeVisible();
  await expect(page.getByText("You have no jobs yet")).toBeVisible();
});

test("the faucet fills a new wallet", async () => {
  await page.goto(`${hub.url}/wallet`);
  await page.getByRole("button", { name: "Get tokens" }).click();
  await expect(page.getByText("The faucet has filled your wallet.")).toBeVisible();
  await expect(page.locator(".figure", { hasText: "In your wallet" })).toContainText(/[1-9]/);
});

test("a dropped folder becomes a quote with three choices, and then a job", async () => {
  await page.goto(`${hub.url}/jobs/new`);
  await page.getByLabel("Folder", { exact: true }).setInputFiles(jobFolder());
  await expect(page.getByRole("textbox", { name: "Job file" })).toHaveValue(/primes\.wasm/);
  await expect(page.getByText("1 file of it will be sent")).toBeVisible();
  await page.getByRole("button", { name: "See the price" }).click();
  for (const choice of ["Cheap", "Balanced", "Fast"]) await expect(page.getByRole("radio", { name: new RegExp(choice) })).toBeVisible();
  await picture(page, "quote");
  await expectUsable(page, "quote");
  await page.getByRole("radio", { name: /Fast/ }).check();
  await page.getByRole("button", { name: "Pay and run" }).click();
  await expect(page).toHaveURL(/\/jobs\/\d+$/);
  job = new URL(page.url()).pathname;
  await expect(page.getByRole("heading", { name: "primes" })).toBeVisible();
});

test("the job is watched while it runs, and a killed worker costs one task, not the job", async () => {
  await page.evaluate(() => Object.assign(window, { neverReloaded: true }));
  const running = page.locator(".why", { hasText: "running" }).first();
  await expect(running).toBeVisible();
  await picture(page, "job-running");
  // A worker that checks another's result at that moment takes nothing of this job with it: then the next one is killed.
  await expect(async () => {
    hub.killWorker();
    await expect(page.getByRole("heading", { name: "What failed, and what came of it" })).toBeVisible({ timeout: 5_000 });
  }).toPass({ timeout: 30_000 });
  await expect(page.getByText("worker left").first()).toBeVisible();
  await expect(page.locator(".page-head .pill", { hasText: "done" })).toBeVisible({ timeout: 180_000 });
  await expect(page.locator(".figure", { hasText: "Done" })).toContainText(`100 % of ${TASKS} tasks`);
  expect(await page.evaluate(() => "neverReloaded" in window)).toBe(true);
});

test("the timeline shows every attempt, the lost one too", async () => {
  await page.goto(`${hub.url}${job}/timeline`);
  const table = page.getByRole("table", { name: "Attempts" });
  await expect(table.getByText("delivered")).toHaveCount(TASKS);
  await expect(table.getByText("worker left").first()).toBeVisible();
});

test("results can be read in the page and downloaded", async () => {
  await page.goto(`${hub.url}${job}/results`);
  await expect(page.locator("pre.preview").first()).toContainText(/^\d+/);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download all as .tar" }).click()]);
  const path = join(hub.folder, "results.tar");
  await download.saveAs(path);
  // The end of a tar is two blocks of zeros, and each file begins a block of its own.
  const bytes = readFileSync(path);
  expect(bytes.length % 512).toBe(0);
  expect(bytes.toString("latin1").match(/ustar/g)?.length).toBeGreaterThanOrEqual(TASKS);
});

test("every receipt holds when the browser reckons it again", async () => {
  await page.goto(`${hub.url}${job}/receipts`);
  await expect(page.getByText(`All ${TASKS} receipts hold`)).toBeVisible();
  await expect(page.getByText("The hub has signed each of them.")).toBeVisible();
  await page.getByRole("button", { name: /^0: primes/ }).click();
  await expect(page.getByRole("dialog")).toContainText("Verdict");
  await expectUsable(page, "receipt");
  await page.keyboard.press("Escape");
});

test("the invoice says what it cost", async () => {
  await page.goto(`${hub.url}/wallet`);
  await expect(page.getByRole("table", { name: "Invoices" }).getByRole("link", { name: "primes" })).toBeVisible();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download as CSV" }).click()]);
  const path = join(hub.folder, "invoices.csv");
  await download.saveAs(path);
  expect(readFileSync(path, "utf8")).toMatch(/^job,name,/);
});

test("a token makes a machine one's own, and its owner sees what it earns", async () => {
  await page.goto(`${hub.url}/account/tokens`);
  await page.getByLabel("What it is for").fill("my machine");
  await page.getByRole("checkbox", { name: /^Provide/ }).check();
  await page.getByRole("button", { name: "Make the token" }).click();
  const token = await page.locator(".notice code").innerText();
  expect(token).toMatch(/^glt_/);
  const file = join(hub.folder, "token");
  writeFileSync(file, token, { mode: 0o600 });
  hub.share("attic", file);
  await page.goto(`${hub.url}/machines`);
  await expect(page.getByRole("link", { name: "attic" })).toBeVisible();
  await page.goto(`${hub.url}/jobs/new`);
  await page.getByLabel("Folder", { exact: true }).setInputFiles(jobFolder());
  // Results that are known need no run, so that this is another job.
  const source = await page.getByRole("textbox", { name: "Job file" }).inputValue();
  await page.getByRole("textbox", { name: "Job file" }).fill(source.replace(FAR, LESS_FAR));
  await page.getByRole("button", { name: "See the price" }).click();
  await page.getByRole("button", { name: "Pay and run" }).click();
  await expect(page.locator(".page-head .pill", { hasText: "done" })).toBeVisible({ timeout: 180_000 });
  await page.goto(`${hub.url}/earnings`);
  await expect(page.locator(".figure", { hasText: "Earned" })).toContainText(/0\.\d*[1-9]/);
  await picture(page, "earnings-first");
});

test("a machine is paused and resumed from the page", async () => {
  await page.goto(`${hub.url}/machines`);
  const machine = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "attic" }) });
  await machine.getByRole("button", { name: "Pause" }).click();
  await expect(machine.getByText("paused", { exact: true })).toBeVisible();
  await machine.getByRole("button", { name: "Resume" }).click();
  await expect(machine.getByText("ready", { exact: true })).toBeVisible();
});

test("the page survives a restart of the hub without a reload", async () => {
  await page.goto(`${hub.url}/jobs`);
  await expect(page.locator(".rail .standing")).toHaveText("live");
  await page.evaluate(() => Object.assign(window, { neverReloaded: true }));
  hub.killHub();
  await expect(page.locator(".rail .standing")).toHaveText(/reconnecting/);
  await expect(page.locator(".rail .standing")).toHaveText("live");
  await expect(page.getByRole("link", { name: "primes" }).first()).toBeVisible();
  expect(await page.evaluate(() => "neverReloaded" in window)).toBe(true);
  // While the hub is away, the browser says so.
  said.splice(0, said.length, ...said.filter((text) => !/WebSocket|ERR_CONNECTION|Failed to load|ERR_/.test(text)));
});

const PLACES = ["/", "/market", "/catalogue", "/catalogue/publish", "/jobs", "/jobs/new", "/files", "/wallet", "/machines", "/earnings", "/account", "/account/tokens", "/account/sessions", "/account/log"];

for (const [view, settings] of [
  ["day", { colorScheme: "light", width: 1360, height: 860 }],
  ["night", { colorScheme: "dark", width: 1360, height: 860 }],
  ["phone", { colorScheme: "light", width: 390, height: 844 }],
] as const)
  test(`every page is usable by ${view}`, async () => {
    await page.emulateMedia({ colorScheme: settings.colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width: settings.width, height: settings.height });
    const parts = ["", "/timeline", "/results", "/logs", "/cost", "/receipts"].map((part) => `${job}${part}`);
    for (const path of [...PLACES, ...parts]) {
      await page.goto(`${hub.url}${path}`, { waitUntil: "networkidle" });
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      const name = path === "/" ? "network" : path.slice(1).replaceAll("/", "-");
      await picture(page, `${name}-${view}`);
      await expectUsable(page, `${path} by ${view}`);
      await expectToFit(page, `${path} by ${view}`);
    }
    await page.setViewportSize({ width: 1360, height: 860 });
  });

test("the keyboard is enough", async () => {
  await page.goto(hub.url);
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the content" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator("main")).toBeFocused();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("market");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Market" })).toBeVisible();
});

test("two-factor is turned on with a code, and asked for at the next sign-in", async () => {
  await page.goto(`${hub.url}/account`);
  await page.getByRole("button", { name: "Turn it on" }).click();
  await expect(page.getByRole("img", { name: /secret as a picture/ })).toBeVisible();
  const secret = await page.locator("code.wrap-anywhere").first().innerText();
  await page.getByLabel("The code that it shows").fill(await totp(secret));
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect(page.getByText("Write these recovery codes down now")).toBeVisible();
  const recovery = await page.locator(".codes li").first().innerText();
  await page.getByRole("button", { name: "I have them" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByText("You are signed out.")).toBeVisible();
  await page.goto(`${hub.url}/sign-in`);
  await page.getByLabel("Name").fill(NAME);
  await page.getByRole("textbox", { name: "Passphrase" }).fill(PASSPHRASE);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByLabel("Code from your authenticator").fill(recovery);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Jobs" })).toBeVisible();
  await page.goto(`${hub.url}/account/log`);
  await expect(page.getByText("A recovery code was used")).toBeVisible();
});

test("signing out leaves nothing to see", async () => {
  await page.goto(`${hub.url}/jobs`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByText("You are signed out.")).toBeVisible();
  await expect(page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Jobs" })).toHaveCount(0);
  await page.goto(`${hub.url}${job}`);
  await expect(page).toHaveURL(/\/sign-in/);
});
