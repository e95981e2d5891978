// Signing in without a passphrase: with a passkey, and with a wallet of the browser.
import { expect, test } from "@playwright/test";
import { Hub } from "./hub";
import { givePasskeys, giveWallet } from "./keys";
import { complaints } from "./looking";

const hub = new Hub();

test.beforeAll(() => hub.start());
test.afterAll(() => hub.stop());

test("a passkey signs in where a passphrase did before", async ({ page }) => {
  // Passkeys belong to names, not to numbers: the same hub by its name on this machine.
  const place = hub.url.replace("127.0.0.1", "localhost");
  const said = complaints(page);
  await givePasskeys(page);
  await page.goto(`${place}/sign-up`);
  await page.getByLabel("Name").fill("meadow");
  await page.getByLabel("Passphrase", { exact: true }).fill("larks above the cut hay");
  await page.getByRole("button", { name: "Make the account" }).click();
  await expect(page.getByRole("heading", { name: "Jobs" })).toBeVisible();
  await page.goto(`${place}/account`);
  await page.getByLabel("Name of the new passkey").fill("laptop");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await expect(page.getByText("laptop")).toBeVisible();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByText("You are signed out.")).toBeVisible();
  await page.goto(`${place}/sign-in`);
  await page.getByRole("button", { name: "With a passkey" }).click();
  await expect(page.getByRole("heading", { name: "Jobs" })).toBeVisible();
  await expect(page.getByRole("link", { name: "meadow" })).toBeVisible();
  expect(said).toEqual([]);
});

test("a wallet signs a sentence and has an account", async ({ page }) => {
  const said = complaints(page);
  const address = await giveWallet(page);
  await page.goto(`${hub.url}/sign-in`);
  await page.getByRole("button", { name: "With a wallet" }).click();
  await expect(page.getByRole("heading", { name: "Jobs" })).toBeVisible();
  await page.goto(`${hub.url}/account`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(new RegExp(address, "i"));
  expect(said).toEqual([]);
});
