// What every page has to hold: no word of complaint in the console, nothing wider than the screen, usable by everybody.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, type Locator, type Page } from "@playwright/test";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

interface Violation {
  id: string;
  help: string;
  nodes: { target: string[]; failureSummary?: string }[];
}

/** Collects what the browser complains about, refusals by the content security policy among it. */
export function complaints(page: Page): string[] {
  const found: string[] = [];
  page.on("console", (message) => {
    // A question that is answered with "not signed in" or "not found" is an answer; the browser notes it all the same.
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) found.push(`${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => found.push(String(error)));
  return found;
}

/** Waits until a page has everything that it asks for when it is opened. */
export async function expectWhole(page: Page): Promise<void> {
  await expect(page.getByRole("heading", { level: 1 })).toBeAttached();
  await expect(page.locator(".waiting")).toHaveCount(0);
}

/** Runs the accessibility check. */
export async function expectUsable(page: Page, name: string): Promise<void> {
  await expectWhole(page);
  await page.evaluate(AXE);
  const violations = await page.evaluate(async (rules) => {
    const { axe } = window as unknown as { axe: { run: (root: Document, options: unknown) => Promise<{ violations: Violation[] }> } };
    return (await axe.run(document, { runOnly: rules })).violations;
  }, RULES);
  const words = violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes.map((node) => node.target.join(" ")).join(", ")})`);
  expect(words, name).toEqual([]);
}

export async function expectToFit(page: Page, name: string): Promise<void> {
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(beyond, `${name} is wider than the screen`).toBeLessThanOrEqual(0);
}

/** Waits until something is drawn on a canvas: at least so many of its points are not empty. */
export async function expectInk(canvas: Locator, least: number): Promise<void> {
  const drawn = () =>
    canvas.evaluate((element) => {
      const { width, height } = element as HTMLCanvasElement;
      const points = (element as HTMLCanvasElement).getContext("2d")?.getImageData(0, 0, width, height).data ?? [];
      return points.filter((value, at) => at % 4 === 3 && value > 0).length;
    });
  await expect.poll(drawn).toBeGreaterThan(least);
}

/** Takes a picture of the page for people to look at. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync("shots", { recursive: true });
  await page.screenshot({ path: `shots/${name}.png`, fullPage: true });
}
