// What somebody sees who looks closely, in a real browser against a real network: the example that one begins with, the graph
// and the timeline while a job runs, its log, the map, prices, and what a machine tells of itself.
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, type Page, test } from "@playwright/test";
import { dropOnto, newcomer } from "./doing";
import { Hub } from "./hub";
import { complaints, expectInk, expectUsable, picture } from "./looking";
import { speaker } from "./programs";

const EXAMPLES = resolve(import.meta.dirname, "../../examples");
/** Where primes are looked for: so far away that a task takes about a second. */
const FAR = "40000000";

const hub = new Hub();
let page: Page;
let said: string[];
/** The page of the example's job. */
let example = "";

test.describe.configure({ mode: "serial" });

test.beforeAll(async ({ browser }) => {
  await hub.start();
  page = await newcomer(browser, hub.url, "hedgerow");
  said = complaints(page);
});

test.afterAll(async () => {
  await page.context().close();
  await hub.stop();
});

test.afterEach(() => {
  expect(said).toEqual([]);
});

test("the example gets three quotes as it stands, and runs", async () => {
  await page.goto(`${hub.url}/jobs/new`);
  await page.getByRole("button", { name: "Start with an example" }).click();
  await expect(page.getByRole("textbox", { name: "Job file" })).toHaveValue(/primes\.wasm/);
  await expect(page.getByText("1 file of it will be sent")).toBeVisible();
  await page.getByRole("button", { name: "See the price" }).click();
  for (const choice of ["Cheap", "Balanced", "Fast"]) await expect(page.getByRole("radio", { name: new RegExp(choice) })).toBeVisible();
  await page.getByRole("button", { name: "Pay and run" }).click();
  await expect(page.locator(".page-head .pill", { hasText: "done" })).toBeVisible({ timeout: 180_000 });
  example = page.url();
});

test("a receipt that was altered on its way is found and named", async () => {
  await page.goto(`${example}/receipts`);
  await expect(page.getByText("All 8 receipts hold")).toBeVisible();
  await expect(page.getByText("The hub has signed each of them, and the workers what they claim.")).toBeVisible();
  // The place where it ran costs nobody anything, so that only the hash can tell.
  await page.route("**/proofs*", async (route) => {
    const receipts = (await (await route.fetch()).json()) as { facts: { placement: { why: string } } }[];
    if (receipts[3]) receipts[3].facts.placement.why = "somebody wanted it there";
    await route.fulfill({ json: receipts });
  });
  await page.reload();
  await expect(page.getByText("1 receipt of 8 does not fit")).toBeVisible();
  await expect(page.getByText("Receipt 3: what it says does not have the hash that the hub signed")).toBeVisible();
  await expect(page.getByRole("table", { name: "Receipts" }).getByText("does not fit")).toHaveCount(1);
  await expectUsable(page, "receipts that do not hold");
  await picture(page, "receipts-altered");
  await page.unroute("**/proofs*");
});

test("the example of a container says where its image comes from", async () => {
  await page.goto(`${hub.url}/jobs/new`);
  await expect(page.getByText("The container's image comes from a registry")).toBeVisible();
  await page.getByRole("button", { name: "With a container" }).click();
  await expect(page.getByRole("textbox", { name: "Job file" })).toHaveValue(/image = "docker\.io\//);
  await expectUsable(page, "the example of a container");
  await picture(page, "example-container");
});

test("the example of a template is published as it stands, and gets three quotes", async () => {
  await page.goto(`${hub.url}/catalogue/publish`);
  await expect(page.getByText("1 file will be published")).toContainText("primes.wasm");
  await page.getByRole("group", { name: "{{tasks}}" }).getByLabel("Default, optional").fill("4");
  await page.getByRole("group", { name: "{{size}}" }).getByLabel("Default, optional").fill("100000");
  await page.getByLabel("Name", { exact: true }).fill("some-primes");
  await page.getByLabel("Title", { exact: true }).fill("Some primes");
  await page.getByLabel("What it does, in a sentence").fill("Counts primes.");
  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Some primes" })).toBeVisible();
  await page.getByRole("button", { name: "See the price" }).click();
  await expect(page.getByRole("heading", { name: "New job" })).toBeVisible();
  await page.getByRole("button", { name: "See the price" }).click();
  for (const choice of ["Cheap", "Balanced", "Fast"]) await expect(page.getByRole("radio", { name: new RegExp(choice) })).toBeVisible();
  await page.getByRole("button", { name: "Start over" }).click();
});

test("a webhook is made with a secret that is shown once", async () => {
  await page.goto(`${hub.url}/account/webhooks`);
  await expect(page.getByText("No webhooks")).toBeVisible();
  await page.getByLabel("Address").fill("http://hooks.example.org/");
  await expect(page.getByText("Requests are sent over https only")).toBeVisible();
  await expect(page.getByRole("button", { name: "Make the webhook" })).toBeDisabled();
  // Nobody answers under a name that is kept free for examples, so that every try fails and says so.
  await page.getByLabel("Address").fill("https://hooks.invalid/gleaner");
  await page.getByLabel("A job is submitted").uncheck();
  await page.getByRole("button", { name: "Make the webhook" }).click();
  await expect(page.getByText("Here is the secret, once")).toBeVisible();
  expect((await page.locator(".notice code.code").innerText()).length).toBeGreaterThan(20);
  await page.getByRole("button", { name: "I have it" }).click();
  await expect(page.getByRole("table", { name: "Webhooks" }).getByText("done, failed, cancelled")).toBeVisible();
  await expectUsable(page, "webhooks");
  await picture(page, "webhooks");
});

/** A folder with a job of two steps, of which the second waits for the first. */
function steps(name: string, far: string): string {
  const folder = join(hub.folder, name);
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(EXAMPLES, "array/primes.wasm"), join(folder, "primes.wasm"));
  const task = (title: string, from: number, input: string) => `
[[task]]
name = "${title}"
runtime = "wasm"
program = "primes.wasm"
each = "${from}..${from + 9}"
args = ["${far}{index}", "1000000"]
time_max = "2m"
${input}
`;
  writeFileSync(join(folder, "job.toml"), `name = "${name}"\n[budget]\nprice_max = "1 GLN"\ntime_max = "10m"\n${task("near", 10, "")}${task("beyond", 30, 'input = [{ name = "near", from = "near" }]')}`);
  return folder;
}

/** Drops a folder, and pays for what it says. */
async function run(folder: string): Promise<void> {
  await page.goto(`${hub.url}/jobs/new`);
  await page.getByRole("button", { name: "Start over" }).click({ timeout: 1000 }).catch(() => undefined);
  await dropOnto(page, page.locator(".drop"), [folder]);
  await page.getByRole("button", { name: "See the price" }).click();
  await page.getByRole("button", { name: "Pay and run" }).click();
  await expect(page).toHaveURL(/\/jobs\/\d+$/);
}

test("the graph is lit while a step runs, and the next one waits for it", async () => {
  await run(steps("two steps", FAR));
  const box = (name: string) => page.locator(".group-box", { hasText: name });
  await expect(box("near")).toHaveClass(/alight/);
  await expect(box("beyond")).toContainText("10 not ready");
  await expect(box("beyond")).not.toHaveClass(/alight|ripe/);
  await expect(box("near").locator("rect.running").first()).toBeVisible();
  await expect(box("near")).toHaveClass(/ripe/);
  await expect(box("beyond")).toHaveClass(/alight/);
  await picture(page, "graph-second-step");
  await expect(box("beyond")).toHaveClass(/ripe/);
  await expect(page.locator(".react-flow__edge.ripe")).toHaveCount(1);
});

test("the timeline draws a bar for every attempt, and says so to who does not see it", async () => {
  await page.goto(`${page.url()}/timeline`);
  // Twenty tasks, and perhaps second attempts at some.
  const chart = page.getByRole("img", { name: /(?:2[0-9]|[3-9][0-9]) attempts on \d workers? over .* The table below has all of them\./ });
  await expect(chart).toBeVisible();
  await expectInk(chart, 2000);
});

test("a running job is cancelled, and its tasks stop", async () => {
  await run(steps("given up", "50000000"));
  await expect(page.locator(".group-box.alight")).toBeVisible();
  await page.getByRole("button", { name: "Cancel job" }).click();
  await page.getByRole("button", { name: "Cancel the job" }).click();
  await expect(page.getByText("The job is cancelled.")).toBeVisible();
  await expect(page.locator(".page-head .pill", { hasText: "cancelled" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Cancel job" })).toHaveCount(0);
});

test("what a program writes is in the log, and a curve is drawn of it", async () => {
  const folder = join(hub.folder, "descent");
  mkdirSync(folder, { recursive: true });
  const losses = Array.from({ length: 12 }, (_, step) => `step ${step + 1} loss ${(2 / (step + 1)).toFixed(3)}`);
  writeFileSync(join(folder, "descent.wasm"), speaker(`${losses.join("\n")}\nthe lowest was 0.167\n`, "0.167\n"));
  writeFileSync(join(folder, "job.toml"), 'name = "descent"\n[budget]\nprice_max = "0.1 GLN"\n[[task]]\nname = "train"\nruntime = "wasm"\nprogram = "descent.wasm"\ntime_max = "1m"\n');
  await run(folder);
  await expect(page.locator(".page-head .pill", { hasText: "done" })).toBeVisible({ timeout: 180_000 });
  const job = page.url();
  await page.goto(`${job}/logs`);
  await expect(page.getByRole("log").getByText("step 12 loss 0.167").first()).toBeVisible();
  await page.getByLabel("Only lines with").fill("lowest");
  // Who computes it again as a check writes the same.
  await expect(page.getByRole("log").getByText("the lowest was 0.167").first()).toBeVisible();
  await expect(page.getByRole("log").getByText("step 12 loss")).toHaveCount(0);
  await page.goto(`${job}/results`);
  await expect(page.getByRole("heading", { name: "Curves from the log" })).toBeVisible();
  await expectInk(page.getByRole("img", { name: /loss/ }).locator("canvas"), 500);
  await expect(page.locator("pre.preview").first()).toContainText("0.167");
  await picture(page, "curve");
});

test("the webhook was told of each job, and is removed", async () => {
  await page.goto(`${hub.url}/account/webhooks`);
  await page.getByRole("button", { name: "Deliveries" }).click();
  const sent = page.getByRole("table", { name: "Deliveries" });
  await expect(sent.getByText("job.cancelled")).toBeVisible();
  await expect(sent.getByText("job.done").first()).toBeVisible();
  await expect(sent.getByText(/^\d+ tr(y|ies): /).first()).toBeVisible();
  await expectUsable(page, "deliveries of a webhook");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Remove the webhook to https://hooks.invalid/gleaner" }).click();
  await expect(page.getByText("The webhook is removed")).toBeVisible();
  await expect(page.getByText("No webhooks")).toBeVisible();
});

test("a deposit goes into escrow", async () => {
  await page.goto(`${hub.url}/wallet`);
  const bed = page.getByRole("region", { name: "Deposit" });
  await bed.getByLabel("Amount").fill("0.25");
  await bed.getByRole("button", { name: "Deposit", exact: true }).click();
  await expect(page.getByText("Deposit: done.")).toBeVisible();
  await expect(page.getByRole("table", { name: "Movements" }).getByRole("row", { name: /Deposited.*0\.25/ })).toBeVisible();
});

test("a machine in Europe is a light on the map, tells its load, and can be given up", async () => {
  await page.goto(`${hub.url}/machines`);
  await page.getByRole("button", { name: "Share a machine" }).click();
  await page.getByRole("button", { name: "Make the token" }).click();
  const file = join(hub.folder, "token");
  writeFileSync(file, await page.locator("code.token").innerText(), { mode: 0o600 });
  hub.share("mill", file);
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("link", { name: "mill" }).click();
  const device = page.locator(".device").first();
  await expect(device.getByText("Load")).toBeVisible();
  await expect(device.getByRole("meter", { name: /^Load: \d+ %/ }).or(device.getByText("not measured").first())).toBeVisible();
  await expect(device.locator("dd").filter({ hasText: /°C|not measured/ }).first()).toBeVisible();
  const where = page.url();

  await page.goto(hub.url);
  const map = page.getByRole("img", { name: /^Workers by region\..*eu: 1 worker/ });
  await expect(map).toBeVisible();
  await expect(map.locator("g.light")).toHaveCount(1);
  await expect(map.getByText("eu")).toBeVisible();
  expect((await map.locator("path.land").getAttribute("d"))?.length).toBeGreaterThan(1000);

  await page.goto(where);
  await page.getByRole("button", { name: "Give this machine up" }).click();
  await expectUsable(page, "a question before a machine is given up");
  await page.getByRole("button", { name: "Give it up", exact: true }).click();
  await expect(page.getByText("mill is not yours any more.")).toBeVisible();
  await expect(page.getByRole("link", { name: "mill" })).toHaveCount(0);
});

test("the price of a class of devices is drawn over time", async () => {
  test.slow();
  await page.goto(hub.url);
  // A point is added every minute, and two of them make a line.
  const chart = page.getByRole("img", { name: /^Price of Processor.* over time, in GLN an hour$/ });
  await expect(chart).toBeVisible({ timeout: 240_000 });
  await expectInk(chart.locator("canvas"), 500);
  await expectInk(page.getByRole("img", { name: "Share of slots at work over time" }).locator("canvas"), 300);
  await picture(page, "prices");
});

test("cases are for everybody to see", async () => {
  await page.goto(hub.url);
  await page.getByRole("link", { name: "Who was found wrong, with the evidence" }).click();
  await expect(page.getByRole("heading", { name: "Cases" })).toBeVisible();
  await expect(page.getByText("Nobody was accused")).toBeVisible();
  await expectUsable(page, "cases");
});
