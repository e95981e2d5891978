// Fails if the types of the API are not what the hub's description of it makes.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "types-"));
try {
  const made = join(folder, "schema.d.ts");
  execFileSync("npx", ["openapi-typescript", "../docs/openapi.json", "-o", made], { stdio: ["ignore", "ignore", "inherit"] });
  if (readFileSync(made, "utf8") !== readFileSync("src/api/schema.d.ts", "utf8")) {
    console.error("src/api/schema.d.ts differs from what docs/openapi.json makes: run `npm run types` and commit it");
    process.exit(1);
  }
} finally {
  rmSync(folder, { recursive: true });
}
