// What a newcomer sees who runs the demo and opens the address that it prints.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { expect, test } from "@playwright/test";
import type { PreviewServer } from "vite";
import { pageBefore, PROGRAM } from "./hub";
import { complaints, expectToFit, expectUsable, expectWhole, picture } from "./looking";

const LINK = /http:\/\/127\.0\.0\.1:\d+\/welcome\?then=\S+#[0-9a-f]+/;

/** A demo that stays, in a folder of its own. */
class Demo {
  private readonly folder = mkdtempSync(join(tmpdir(), "gleaner-demo-page-"));
  private process: ChildProcess | null = null;
  private lines: AsyncIterator<string> | null = null;
  private readonly said: string[] = [];
  private page: PreviewServer | null = null;

  start(): void {
    // The same job everywhere, and no second rendering: what is tested is the page.
    const child = spawn(PROGRAM, ["demo", "--stay", "--wasm", "--no-reference"], { cwd: this.folder, stdio: ["pipe", "ignore", "pipe"] });
    this.process = child;
    const reader: Interface = createInterface({ input: child.stderr as NonNullable<typeof child.stderr> });
    this.lines = reader[Symbol.asyncIterator]();
  }

  /** The next link that it prints. */
  async link(): Promise<string> {
    for (;;) {
      const line = await this.lines?.next();
      if (!line || line.done) throw new Error(`the demo ended without a link:\n${this.said.join("\n")}`);
      this.said.push(line.value);
      const link = LINK.exec(line.value)?.[0];
      if (link) return this.shown(link);
    }
  }

  /** The same link at the page that is tested. */
  private async shown(link: string): Promise<string> {
    const { origin } = new URL(link);
    this.page ??= await pageBefore(origin);
    return link.replace(`${origin}/`, this.page?.resolvedUrls?.local[0] ?? `${origin}/`);
  }

  another(): void {
    this.process?.stdin?.write("\n");
  }

  /** Everything that it has said. */
  words(): string {
    return this.said.join("\n");
  }

  /** Ends it as Ctrl-C does. */
  async stop(): Promise<number | null> {
    const child = this.process;
    if (!child) return null;
    const ended = new Promise<number | null>((done) => (child.exitCode === null ? child.once("exit", done) : done(child.exitCode)));
    child.kill("SIGINT");
    const code = await ended;
    await this.page?.close();
    for (let line = await this.lines?.next(); line && !line.done; line = await this.lines?.next()) this.said.push(line.value);
    rmSync(this.folder, { recursive: true, force: true });
    return code;
  }
}

test("a newcomer opens the demo's link and reads what ran where, what it cost and why it can be believed", async ({ browser }) => {
  test.setTimeout(600_000);
  const demo = new Demo();
  demo.start();
  try {
    await demo.link();
    const link = await demo.link();
    const page = await (await browser.newContext({ colorScheme: "light" })).newPage();
    const said = complaints(page);
    await page.goto(link);
    await expect(page).toHaveURL(/\/jobs\/\d+$/);
    await expect(page.getByRole("heading", { name: "What ran where" })).toBeVisible();
    await expect(page.locator(".tallies li")).toHaveCount(4);
    await expect(page.getByText(/attempts? failed or got lost/)).toBeVisible();
    await expect(page.locator(".answer-figure")).toHaveText(/0\.\d*[1-9]\d* GLN/);
    await expect(page.locator(".verdicts")).toContainText(/computed|drawn|nobody else/);
    await expect(page.getByRole("heading", { name: "worker left" }).or(page.getByText("worker left").first())).toBeVisible();
    await expectUsable(page, "the demo's job");
    await picture(page, "demo-job-day");
    // As the README shows it: what is seen without scrolling.
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.screenshot({ path: "shots/dashboard.png" });
    await page.setViewportSize({ width: 1360, height: 860 });
    await page.getByRole("link", { name: "Reckon the receipts again, here in your browser" }).click();
    await expect(page.getByText(/All \d+ receipts hold/)).toBeVisible();
    await page.getByRole("link", { name: "Results", exact: true }).click();
    await expect(page.locator("img.mosaic")).toHaveJSProperty("naturalWidth", 960);
    await picture(page, "demo-results-day");
    await page.getByRole("link", { name: "My machines" }).click();
    await expect(page.getByRole("link", { name: "worker-1" })).toBeVisible();
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByRole("link", { name: /with a liar among the workers/ }).click();
    await expect(page.locator(".verdicts .refuted").first()).toBeVisible();
    const contested = page.getByRole("list", { name: "Contested results" });
    await expect(contested.getByText("found wrong", { exact: true }).first()).toBeVisible();
    await expect(contested.locator(".contest-answers")).toHaveCount(3);
    await page.getByRole("button", { name: /Show all \d+ contested results/ }).click();
    expect(await contested.locator(".contest-answers").count()).toBeGreaterThan(3);
    await expect(contested.getByText(/computed [0-9a-f]+/).first()).toBeVisible();
    await expect(page.getByRole("list", { name: "Cases" }).getByRole("link", { name: /^[0-9a-f]+/ }).first()).toBeVisible();
    await expectUsable(page, "the demo's liar");
    await page.reload();
    await expectWhole(page);
    await picture(page, "demo-liar-day");
    await page.emulateMedia({ colorScheme: "dark" });
    await picture(page, "demo-liar-night");
    await page.getByRole("link", { name: "Receipts", exact: true }).click();
    await expect(page.getByText(/All \d+ receipts hold/)).toBeVisible();
    await page.goto(new URL("/", link).href);
    await expectWhole(page);
    await picture(page, "demo-network-night");
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(new URL("/jobs/1", link).href);
    await expectWhole(page);
    await expectToFit(page, "the demo's job");
    await picture(page, "demo-job-phone");
    expect(said).toEqual([]);

    // The link was good once. Whoever finds it later is told what to do, and Enter makes another one.
    const stranger = await (await browser.newContext()).newPage();
    await stranger.goto(link);
    await expect(stranger.getByRole("alert")).toContainText("answered before");
    await expect(stranger).not.toHaveURL(/#/);
    await expectUsable(stranger, "a used link");
    demo.another();
    await stranger.goto(await demo.link());
    await expect(stranger.getByRole("heading", { name: "What ran where" })).toBeVisible();
  } finally {
    const code = await demo.stop();
    expect(code, demo.words()).toBe(0);
  }
});
