// What somebody sees who looks closely, in a real browser against a real network: the example that one begins with, the graph
// and the timeline while a job runs, its log, the map, prices, and what a machine tells of itself.
import { expect, type Page, test } from "@playwright/test";
import { newcomer } from "./doing";
import { Hub } from "./hub";
import { complaints, expectUsable, picture } from "./looking";

const hub = new Hub();
let page: Page;
let said: string[];

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
});

test("the example of a container says where its image comes from", async () => {
  await page.goto(`${hub.url}/jobs/new`);
  await expect(page.getByText("The container's image comes from a registry")).toBeVisible();
  await page.getByRole("button", { name: "With a container" }).click();
  await expect(page.getByRole("textbox", { name: "Job file" })).toHaveValue(/image = "docker\.io\//);
  await expectUsable(page, "the example of a container");
  await picture(page, "example-container");
});
