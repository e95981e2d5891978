// Brings data to a hub by its page, in a real browser, as a person would. What it finds is printed as JSON.
//
//   node upload.js BROWSER URL TOKEN-FILE FOLDER PICTURES
//
// FOLDER holds what is sent; PICTURES gets pictures of the page, for people to look at.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

const [browserPath, url, tokenFile, folder, pictures] = process.argv.slice(2);
const token = fs.readFileSync(tokenFile, "utf8").trim();
const inside = (name) => path.join(folder, name);
const PATIENCE_MS = 120_000;
// Slow enough that a person, or a busy machine, can look at an upload while it goes on.
const SLOW_BYTES_A_SECOND = 6_000_000;

const browser = await chromium.launch({ executablePath: browserPath, args: ["--disable-dev-shm-usage"] });
const context = await browser.newContext({ viewport: { width: 1000, height: 1100 } });
context.setDefaultTimeout(PATIENCE_MS);
const page = await context.newPage();
const faults = [];
page.on("pageerror", (error) => faults.push(String(error)));
page.on("console", (said) => { if (/Content Security Policy/.test(said.text())) faults.push(said.text()); });
// "Leave this page?", while something is being sent.
page.on("dialog", (dialog) => dialog.accept());

// Bytes of files that were put on their way.
let put = 0;
page.on("request", (request) => {
  const range = /^bytes (\d+)-(\d+)\//.exec(request.headers()["content-range"] || "");
  if (range) put += Number(range[2]) + 1 - Number(range[1]);
});

const text = (id) => page.textContent(`#${id}`);
const picture = (name) => page.screenshot({ path: path.join(pictures, name), fullPage: true });

async function fill(name, given = token) {
  await page.fill("#token", given);
  await page.fill("#name", name);
}
async function ready(name) {
  await page.waitForFunction((name) => {
    const said = (id) => document.getElementById(id).textContent;
    return said("phase").startsWith(`Ready: ${name} `) || said("phase").startsWith("Not finished");
  }, name);
  assert.equal(await text("phase"), `Ready: ${name} is a dataset.`, await text("trouble"));
  assert.match(await text("words"), /Its reference: data:[0-9a-f]{64}:\d+:\d+$/);
  assert.match(await text("lines"), new RegExp(`^gleaner data pull '?${name}`));
}
async function slowly(bytesASecond) {
  const devtools = await context.newCDPSession(page);
  await devtools.send("Network.enable");
  const figures = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: bytesASecond };
  await devtools.send("Network.emulateNetworkConditions", figures);
}

await page.goto(`${url}/upload`);
await picture("page.png");

// Somebody else's token.
await page.setInputFiles("#files", inside("notes.txt"));
await fill("notes", "0".repeat(64));
await page.click("#start");
await page.waitForFunction(() => document.getElementById("trouble").textContent);
assert.match(await text("trouble"), /does not know this token/);
assert.equal(await text("phase"), "Not finished.");
await picture("wrong-token.png");

// Some files.
await page.setInputFiles("#files", [inside("notes.txt"), inside("nothing")]);
assert.match(await text("chosen"), /^2 files, /);
await fill("notes");
await page.click("#start");
await ready("notes");
assert.equal(await text("figure-files"), "2 of 2");
await picture("ready.png");

// A folder, which gives its name and keeps the folders in it.
await page.fill("#name", "");
await page.setInputFiles("#folder", inside("scene"));
assert.equal(await page.inputValue("#name"), "scene");
await page.click("#start");
await ready("scene");

// The same folder and a file, dropped onto the page.
const devtools = await context.newCDPSession(page);
const data = { items: [], files: [inside("scene"), inside("notes.txt")], dragOperationsMask: 1 };
for (const type of ["dragEnter", "dragOver", "drop"]) {
  await devtools.send("Input.dispatchDragEvent", { type, x: 500, y: 300, data });
  if (type === "dragOver") await page.waitForSelector("#drop.over");
}
await page.waitForFunction(() => /^[3-9] files, /.test(document.getElementById("chosen").textContent));
await fill("dropped");
await page.click("#start");
await ready("dropped");

// Something large over a slow line, and the page is loaded anew in the middle of it.
await slowly(SLOW_BYTES_A_SECOND);
await page.setInputFiles("#files", inside("large"));
await fill("large");
put = 0;
await page.click("#start");
const bar = () => page.evaluate(() => document.getElementById("bar").value);
await page.waitForFunction(() => document.getElementById("bar").value > 0.4);
const seen = { bar: await bar(), speed: await text("figure-speed"), left: await text("figure-left") };
assert(seen.bar < 1, "it is on its way");
assert.match(seen.speed, /^[\d.]+ [KM]B\/s$/);
assert.match(seen.left, /^\d+ s$/);
await picture("sending.png");
await page.reload();
const first = put;
assert.match(await text("unfinished"), /The upload of large was not finished/);
assert.equal(await page.inputValue("#name"), "large");
assert.equal(await page.inputValue("#token"), token, "the tab remembers it");
await picture("unfinished.png");
await slowly(-1);
await page.setInputFiles("#files", inside("large"));
put = 0;
await page.click("#start");
await ready("large");
const second = put;

// As it looks to others.
await page.emulateMedia({ colorScheme: "dark" });
await picture("dark.png");
await page.setViewportSize({ width: 380, height: 800 });
await picture("narrow.png");
const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
assert(overflow <= 0, `the page is ${overflow} pixels too wide for a telephone`);

await browser.close();
assert.deepEqual(faults, []);
console.log(JSON.stringify({ first, second, seen }));
