// What a newcomer does, from signing up to signing out, in a real browser against a real network.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, type Locator, type Page, test } from "@playwright/test";
import { addressOf, dropOnto, newcomer, tabTo } from "./doing";
import { Hub } from "./hub";
import { totp } from "./keys";
import { complaints, expectToFit, expectUsable, expectWhole, picture } from "./looking";

const EXAMPLES = resolve(import.meta.dirname, "../../examples");
const NAME = "orchard";
const PASSPHRASE = "stubble gleaned at dusk";
const TASKS = 40;
/** Where primes are looked for: so far away that a task takes about a second. */
const [FAR, LESS_FAR] = ["40000000", "30000000"];

const hub = new Hub();
let page: Page;
let said: string[];
let job = "";
/** The page of the machine that is shared. */
let machine = "";

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

test("tokens are staked, begin to come out again, and can vote", async () => {
  await page.goto(`${hub.url}/stake`);
  const adding = page.getByRole("region", { name: "Add stake" });
  await adding.getByLabel("Amount").fill("12");
  await adding.getByRole("button", { name: "Stake", exact: true }).click();
  await expect(page.locator(".figure", { hasText: "Staked" })).toContainText("12");
  const leaving = page.getByRole("region", { name: "Take stake out" });
  await leaving.getByLabel("Amount").fill("2");
  await leaving.getByRole("button", { name: "Take out", exact: true }).click();
  await expect(page.locator(".figure", { hasText: "On its way out" })).toContainText("2");
  await page.getByRole("button", { name: "Vote with them yourself" }).click();
  await expect(page.getByText("You vote with your tokens yourself")).toBeVisible();
  await expectUsable(page, "stake and votes");
});

test("a dropped folder becomes a quote with three choices, and then a job", async () => {
  await page.goto(`${hub.url}/jobs/new`);
  await dropOnto(page, page.locator(".drop"), [jobFolder()]);
  await expect(page.getByRole("textbox", { name: "Job file" })).toHaveValue(/primes\.wasm/);
  await expect(page.getByText("1 file of it will be sent")).toBeVisible();
  await page.getByRole("button", { name: "See the price" }).click();
  for (const choice of ["Cheap", "Balanced", "Fast"]) await expect(page.getByRole("radio", { name: new RegExp(choice) })).toBeVisible();
  await picture(page, "quote");
  await expectUsable(page, "quote");
  // Whoever looks at the wallet meanwhile finds the job again.
  await page.getByRole("link", { name: "Wallet", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Wallet" })).toBeVisible();
  await page.getByRole("link", { name: "New job", exact: true }).click();
  await expect(page.getByText("1 file of it will be sent")).toBeVisible();
  await page.getByRole("button", { name: "See the price" }).click();
  await page.getByRole("radio", { name: /Fast/ }).check();
  await page.getByRole("button", { name: "Pay and run" }).click();
  await expect(page).toHaveURL(/\/jobs\/\d+$/);
  job = new URL(page.url()).pathname;
  await expect(page.getByRole("heading", { name: "primes" })).toBeVisible();
});

/** The worker that has begun one of the job's tasks last, by the hub's word. */
async function busyWorker(): Promise<string> {
  const answer = await page.request.get(`${hub.url}/api/v1${job}/attempts`);
  const { items } = (await answer.json()) as { items: { state: string; second: boolean; started_at: number; worker_name: string }[] };
  const running = items.filter(({ state, second }) => state === "running" && !second).sort((one, other) => other.started_at - one.started_at);
  if (!running[0]) throw new Error("no worker has begun a task");
  return running[0].worker_name;
}

test("the job is watched while it runs, and a killed worker costs one task, not the job", async () => {
  await page.evaluate(() => Object.assign(window, { neverReloaded: true }));
  const running = page.locator(".why", { hasText: "running" }).first();
  await expect(running).toBeVisible();
  await picture(page, "job-running");
  // A worker that has begun one of the job's tasks takes it with it, unless the task was done in that very moment: then the next is killed.
  await expect(async () => {
    hub.killWorker(await busyWorker());
    await expect(page.getByRole("heading", { name: "What failed, and what came of it" })).toBeVisible({ timeout: 5_000 });
  }).toPass({ timeout: 60_000 });
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
  await expect(page.getByText("The hub has signed each of them, and the workers what they claim.")).toBeVisible();
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

test("what is in escrow can be sent to an address, once that was confirmed", async () => {
  await page.goto(`${hub.url}/wallet`);
  const bed = page.getByRole("region", { name: "Withdraw" });
  // What the first job did not use has to come back before it can be sent anywhere.
  await expect(page.locator(".figure", { hasText: "Deposited" })).toContainText(/[1-9]/);
  await bed.getByLabel("Amount").fill("0.001");
  await bed.getByLabel("To another address, optional").fill("0x12");
  await expect(bed.getByText("40 hexadecimal digits")).toBeVisible();
  await expect(bed.getByRole("button", { name: "Withdraw", exact: true })).toBeDisabled();
  await bed.getByLabel("To another address, optional").fill("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD");
  await bed.getByRole("button", { name: "Withdraw", exact: true }).click();
  await expectUsable(page, "a question before money goes away");
  await page.getByRole("button", { name: "Send it" }).click();
  await expect(bed.getByRole("alert")).toContainText("is not an address");
  // Another wish has another key, whatever became of the one before.
  const somebody = addressOf(7);
  await bed.getByLabel("To another address, optional").fill(somebody);
  await bed.getByRole("button", { name: "Withdraw", exact: true }).click();
  await expect(page.getByRole("dialog")).toContainText(somebody);
  await page.getByRole("button", { name: "Send it" }).click();
  await expect(page.getByText("Withdraw: done.")).toBeVisible();
  await expect(page.getByRole("table", { name: "Movements" }).getByText("Withdrawn").first()).toBeVisible();
});

test("what the hub keeps for jobs is listed, and can be removed", async () => {
  await page.goto(`${hub.url}/files`);
  await expect(page.getByText("You have pushed no dataset")).toBeVisible();
  await page.getByRole("button", { name: "Of jobs too" }).click();
  const rows = page.getByRole("table", { name: "Datasets" }).locator("tbody tr");
  await expect(rows.first()).toContainText(/read by jobs|made by a job/);
  const before = await rows.count();
  await rows.first().getByRole("button", { name: /^Remove the dataset/ }).click();
  // A result that is still checked by others needs it, and the page says so.
  await expect(async () => {
    await page.getByRole("button", { name: "Remove it" }).click();
    await expect(page.getByText("The dataset is removed.")).toBeVisible({ timeout: 2000 });
  }).toPass();
  await (before > 1 ? expect(rows).toHaveCount(before - 1) : expect(page.getByText("Nothing is kept for you")).toBeVisible());
});

test("a token is made, shown once, and revoked", async () => {
  await page.goto(`${hub.url}/account/tokens`);
  await page.getByLabel("What it is for").fill("notebook");
  await page.getByRole("button", { name: "Make the token" }).click();
  await expect(page.locator(".notice code")).toHaveText(/^glt_/);
  await page.getByRole("button", { name: "I have it" }).click();
  await page.getByRole("row", { name: /notebook/ }).getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByText("The token is revoked. It stops working at once.")).toBeVisible();
});

test("a machine is shared by the commands that the page shows, and its owner sees what it earns", async () => {
  await page.goto(`${hub.url}/machines`);
  await page.getByRole("button", { name: "Share a machine" }).click();
  await page.getByRole("button", { name: "Make the token" }).click();
  const token = await page.locator("code.token").innerText();
  expect(token).toMatch(/^glt_/);
  await expectUsable(page, "how a machine is shared");
  await picture(page, "share-a-machine");
  const commands = await page.locator(".steps .command code").allInnerTexts();
  const [keep, share] = [commands.find((one) => one.includes("umask")) ?? "", commands.find((one) => one.startsWith("gleaner share")) ?? ""];
  expect(commands.filter((one) => one !== token).join()).not.toContain(token);
  // As somebody would at a shell: the command, and then what is pasted.
  execFileSync("bash", ["-c", keep], { input: `${token}\n`, env: { ...process.env, HOME: hub.folder } });
  const file = share.replace(/^.* --account-token-file ~/, hub.folder);
  expect(share).toContain(`--hub ${hub.url} `);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  hub.share("attic", file);
  await page.getByRole("button", { name: "Close" }).click();
  await expect(page.getByRole("link", { name: "attic" })).toBeVisible();
  machine = (await page.getByRole("link", { name: "attic" }).getAttribute("href")) ?? "";
  await page.goto(`${hub.url}/account/tokens`);
  await expect(page.getByRole("row", { name: /share a machine/ }).getByRole("cell", { name: "provide", exact: true })).toBeVisible();
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

/** Presses a button that sets something, and waits for the hub's answer: who leaves the page before takes the request back. */
async function answered(button: Locator): Promise<void> {
  const answer = page.waitForResponse((response) => response.request().method() !== "GET" && response.url().includes("/machines/"));
  await button.click();
  expect((await answer).ok()).toBe(true);
}

test("a machine's price and hours are set from the page, and the machine follows", async () => {
  await page.goto(`${hub.url}${machine}`);
  const price = page.getByRole("region", { name: "Price" });
  await price.getByRole("button", { name: "My own" }).click();
  await price.getByLabel("Price for an hour of one slot").fill("much");
  await expect(price.getByRole("button", { name: "Set the price" })).toBeDisabled();
  await price.getByLabel("Price for an hour of one slot").fill("0.72");
  await price.getByRole("button", { name: "Set the price" }).click();
  await expect(page.getByText("The machine will follow within a minute.")).toBeVisible();
  const hours = page.getByRole("region", { name: "Schedule" });
  await hours.getByLabel("Hours in which it is shared").fill("00:00-12:00, 12:00-00:00");
  await answered(hours.getByRole("button", { name: "Set the hours" }));
  // What is shown is what the machine says is in force, not what was typed.
  await page.goto(`${hub.url}/machines`);
  const own = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "attic" }) });
  await expect(own.getByText("Asks 0.72 GLN/h")).toBeVisible();
  await expect(async () => {
    await page.goto(`${hub.url}${machine}`);
    await expect(hours.getByLabel("Hours in which it is shared")).toHaveValue(/00:00-12:00/, { timeout: 1000 });
  }).toPass();
  await price.getByRole("button", { name: "What the market asks" }).click();
  await answered(price.getByRole("button", { name: "Set the price" }));
  await page.goto(`${hub.url}/machines`);
  await expect(own.getByText("(what the market asks)")).toBeVisible();
});

/** A folder with a job file that has blanks, the program that it runs, and something that nobody should get. */
function templateFolder(): string {
  const folder = join(hub.folder, "count-words");
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(EXAMPLES, "graph/words.wasm"), join(folder, "words.wasm"));
  writeFileSync(join(folder, "private.txt"), "not for everybody");
  const file = `name = "words"

[budget]
price_max = "{{price}}"
time_max = "10m"

[[task]]
name = "split"
runtime = "wasm"
program = "words.wasm"
each = "0..{{parts - 1}}"
args = ["split", "{index}", "{{parts}}"]
input = [{ name = "text", file = "{{text}}" }]

[[task]]
name = "count"
runtime = "wasm"
program = "words.wasm"
each = "0..{{parts - 1}}"
args = ["count"]
input = [{ name = "part", from = "split", same_index = true }]
`;
  writeFileSync(join(folder, "job.toml"), file);
  return folder;
}

test("a template with files and a picture is published, run by somebody else, and removed", async ({ browser }) => {
  await page.goto(`${hub.url}/catalogue/publish`);
  await dropOnto(page, page.locator(".drop"), [templateFolder()]);
  await expect(page.getByText("1 file will be published")).toContainText("words.wasm");
  await expect(page.getByRole("group", { name: "{{text}}" }).getByLabel("Takes")).toHaveValue("file");
  await expect(page.getByRole("group", { name: "{{price}}" }).getByLabel("Takes")).toHaveValue("amount");
  await page.getByRole("group", { name: "{{parts}}" }).getByLabel("Default, optional").fill("3");
  await page.getByRole("group", { name: "{{price}}" }).getByLabel("Default, optional").fill("0.5 GLN");
  await page.getByLabel("Name", { exact: true }).fill("ab");
  await expect(page.getByText("3 to 40 small letters")).toBeVisible();
  await page.getByLabel("Name", { exact: true }).fill("count-words");
  await page.getByLabel("Title", { exact: true }).fill("Words of a text");
  await page.getByLabel("What it does, in a sentence").fill("Counts the words of a text that you bring.");
  await page.getByLabel("Picture, optional").setInputFiles(resolve(import.meta.dirname, "../../catalogue/words.png"));
  await expectUsable(page, "publish");
  await picture(page, "publish-filled");
  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await expect(page).toHaveURL(/\/catalogue\/count-words$/);
  await expect(page.getByRole("heading", { name: "Words of a text" })).toBeVisible();
  await expect(page.locator("img.template-picture")).toHaveJSProperty("complete", true);
  // What was sent for it is not left among the account's own files.
  await page.goto(`${hub.url}/files`);
  await expectWhole(page);
  await expect(page.getByText(/^publish-/)).toHaveCount(0);

  const other = await newcomer(browser, hub.url, "meadow");
  const theirs = complaints(other);
  await other.goto(`${hub.url}/catalogue`);
  await other.getByRole("link", { name: "Words of a text" }).click();
  await expect(other.getByRole("button", { name: "Remove" })).toHaveCount(0);
  await expect(other.getByLabel("Parts, optional")).toHaveValue("3");
  await other.getByRole("button", { name: "See the price" }).click();
  await expect(other.getByText("This is needed")).toBeVisible();
  await other.getByLabel("Text", { exact: true }).setInputFiles(join(EXAMPLES, "graph/to-autumn.txt"));
  await other.getByRole("button", { name: "See the price" }).click();
  await expect(other.getByRole("textbox", { name: "Job file" })).toHaveValue(/count-words-files\/to-autumn\.txt/);
  await other.getByRole("button", { name: "See the price" }).click();
  await other.getByRole("button", { name: "Pay and run" }).click();
  await expect(other.locator(".page-head .pill", { hasText: "done" })).toBeVisible({ timeout: 180_000 });
  await other.goto(`${other.url()}/results`);
  await expect(other.locator("pre.preview").first()).toContainText(/\w/);
  expect(theirs).toEqual([]);
  await other.context().close();

  await page.goto(`${hub.url}/catalogue/count-words`);
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("button", { name: "Remove it" }).click();
  await expect(page).toHaveURL(/\/catalogue$/);
  await expect(page.getByText("Words of a text is not in the catalogue any more.")).toBeVisible();
  await expect(page.getByRole("link", { name: "Words of a text" })).toHaveCount(0);
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

const PLACES = ["/", "/cases", "/market", "/catalogue", "/catalogue/publish", "/jobs", "/jobs/new", "/files", "/wallet", "/machines", "/earnings", "/stake", "/account", "/account/tokens", "/account/webhooks", "/account/sessions", "/account/log", "/catalogue/primes", "/no-such-page"];
/** What only those see who have not signed in. */
const DOORS = ["/sign-in", "/sign-up", "/welcome"];

for (const [view, settings] of [
  ["day", { colorScheme: "light", width: 1360, height: 860 }],
  ["night", { colorScheme: "dark", width: 1360, height: 860 }],
  ["phone", { colorScheme: "light", width: 390, height: 844 }],
] as const)
  test(`every page is usable by ${view}`, async ({ browser }) => {
    await page.emulateMedia({ colorScheme: settings.colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width: settings.width, height: settings.height });
    const parts = ["", "/timeline", "/results", "/logs", "/cost", "/receipts"].map((part) => `${job}${part}`);
    const stranger = await (await browser.newContext({ viewport: page.viewportSize(), colorScheme: settings.colorScheme, reducedMotion: "reduce" })).newPage();
    const visits = [...PLACES, machine, ...parts].map((path) => [page, path] as const);
    for (const [visitor, path] of [...visits, ...DOORS.map((door) => [stranger, door] as const)]) {
      await visitor.goto(`${hub.url}${path}`, { waitUntil: "networkidle" });
      await expect(visitor.getByRole("heading", { level: 1 })).toBeAttached();
      const name = path === "/" ? "network" : path === machine ? "machine" : path.slice(1).replaceAll("/", "-");
      await picture(visitor, `${name}-${view}`);
      await expectUsable(visitor, `${path} by ${view}`);
      await expectToFit(visitor, `${path} by ${view}`);
    }
    await stranger.context().close();
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

test("a job is submitted with the keyboard alone", async () => {
  await page.goto(hub.url);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("catalogue");
  await page.keyboard.press("Enter");
  await tabTo(page, page.getByRole("link", { name: "Count primes" }));
  await page.keyboard.press("Enter");
  await tabTo(page, page.getByRole("button", { name: "See the price" }));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "New job" })).toBeVisible();
  await tabTo(page, page.getByRole("button", { name: "See the price" }));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("radio", { name: /Balanced/ })).toBeVisible();
  await tabTo(page, page.getByRole("radio", { name: /Balanced/ }));
  await page.keyboard.press("ArrowLeft");
  await expect(page.getByRole("radio", { name: /Cheap/ })).toBeChecked();
  await tabTo(page, page.getByRole("button", { name: "Pay and run" }));
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/jobs\/\d+$/);
  await expect(page.locator(".page-head .pill", { hasText: "done" })).toBeVisible({ timeout: 180_000 });
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
