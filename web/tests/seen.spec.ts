// What somebody sees who looks closely, in a real browser against a real network: the example that one begins with, the graph
// and the timeline while a job runs, its log, the map, prices, and what a machine tells of itself.
import { expect, type Page, test } from "@playwright/test";
import { newcomer } from "./doing";
import { Hub } from "./hub";
import { complaints, expectUsable, picture } from "./looking";

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

test("a webhook is made with a secret that is shown once, hears of a job, and is removed", async () => {
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

test("cases are for everybody to see", async () => {
  await page.goto(hub.url);
  await page.getByRole("link", { name: "Who was found wrong, with the evidence" }).click();
  await expect(page.getByRole("heading", { name: "Cases" })).toBeVisible();
  await expect(page.getByText("Nobody was accused")).toBeVisible();
  await expectUsable(page, "cases");
});
