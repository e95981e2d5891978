// What people do in a browser that takes more than a click: dropping folders, signing up, going on by the keyboard.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { type Browser, expect, type Locator, type Page } from "@playwright/test";

/** The most keys that are pressed on the way to something. */
const TABS_MAX = 120;

/** Drops files and folders of this machine onto a place, as the browser's own drag and drop brings them. */
export async function dropOnto(page: Page, place: Locator, paths: string[]): Promise<void> {
  await place.scrollIntoViewIfNeeded();
  const box = await place.boundingBox();
  if (!box) throw new Error("the place is not to be seen");
  const session = await page.context().newCDPSession(page);
  const at = { x: box.x + box.width / 2, y: box.y + 20, data: { items: [], files: paths, dragOperationsMask: 1 } };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) await session.send("Input.dispatchDragEvent", { type, ...at });
  await session.detach();
}

/** Somebody new with an account and tokens, in a browser of their own. */
export async function newcomer(browser: Browser, hub: string, name: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${hub}/sign-up`);
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Passphrase", { exact: true }).fill("larks above the cut hay");
  await page.getByRole("button", { name: "Make the account" }).click();
  await expect(page.getByRole("heading", { name: "Jobs" })).toBeVisible();
  await page.goto(`${hub}/wallet`);
  await page.getByRole("button", { name: "Get tokens" }).click();
  await expect(page.getByText("The faucet has filled your wallet.")).toBeVisible();
  return page;
}

/** Goes on with the tabulator until something has the focus. */
export async function tabTo(page: Page, wanted: Locator): Promise<void> {
  await expect(wanted).toBeVisible();
  for (let pressed = 0; pressed < TABS_MAX; pressed++) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`the keyboard does not come to ${wanted.toString()}`);
}

/** An address with its checksum (EIP-55), made of a number. */
export function addressOf(number: number): string {
  const digits = Buffer.from(keccak_256(Uint8Array.of(number))).toString("hex").slice(0, 40);
  const hash = Buffer.from(keccak_256(new TextEncoder().encode(digits))).toString("hex");
  return `0x${[...digits].map((digit, at) => (Number.parseInt(hash[at] ?? "0", 16) >= 8 ? digit.toUpperCase() : digit)).join("")}`;
}
