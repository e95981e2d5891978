// How much a browser fetches to show the first page: everything that is loaded before and for the network page, gzipped as it
// travels. Fails above the limit.
import { existsSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMIT = 300_000;
const FIRST = ["index.html", "src/pages/Network.tsx", "src/ui/Chart.tsx"];

if (!existsSync("dist/.vite/manifest.json")) throw new Error("there is no built page: run `npm run build` first");
const manifest = JSON.parse(readFileSync("dist/.vite/manifest.json", "utf8"));
const files = new Set(["index.html", "theme.js", "favicon.svg"]);

function take(name) {
  const chunk = manifest[name];
  if (!chunk) throw new Error(`${name} is not in the built page: has the first page moved?`);
  if (files.has(chunk.file)) return;
  for (const file of [chunk.file, ...(chunk.css ?? []), ...(chunk.assets ?? [])]) files.add(file);
  for (const other of chunk.imports ?? []) take(other);
}

FIRST.forEach(take);
const sizes = [...files].map((file) => {
  const bytes = readFileSync(`dist/${file}`);
  // Fonts are compressed already.
  return [file, file.endsWith(".woff2") ? bytes.length : gzipSync(bytes, { level: 9 }).length];
});
const total = sizes.reduce((sum, [, size]) => sum + size, 0);
for (const [file, size] of sizes.sort((a, b) => b[1] - a[1])) console.log(`${(size / 1000).toFixed(1).padStart(7)} kB  ${file}`);
console.log(`${(total / 1000).toFixed(1).padStart(7)} kB  first load, of at most ${LIMIT / 1000} kB`);
if (total > LIMIT) {
  console.error("the first load is too large: load what is not needed at once with lazy()");
  process.exit(1);
}
