import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const OUT = "dist";
const SQUEEZED = new Set([".html", ".js", ".css", ".svg"]);
const SQUEEZED_FROM_BYTES = 1024;

/** Empties the folder but for the file that keeps it, and puts gzipped files beside those that gain by it. */
function folder() {
  return {
    name: "folder",
    apply: "build" as const,
    buildStart() {
      for (const name of readdirSync(OUT)) if (name !== ".gitignore") rmSync(join(OUT, name), { recursive: true });
    },
    closeBundle() {
      for (const name of readdirSync(OUT, { recursive: true, encoding: "utf8" })) {
        const path = join(OUT, name);
        if (name.startsWith(".") || !SQUEEZED.has(extname(name)) || statSync(path).size < SQUEEZED_FROM_BYTES) continue;
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
      }
    },
  };
}

// The hub serves the page under `default-src 'self'`, so nothing may be inlined as a data address.
export default defineConfig({
  plugins: [react(), folder()],
  build: {
    outDir: OUT,
    emptyOutDir: false,
    target: "es2022",
    assetsInlineLimit: 0,
    manifest: true,
    modulePreload: { polyfill: false },
  },
  server: {
    host: "127.0.0.1",
    // The example's program lies with the other examples.
    fs: { allow: [".."] },
    proxy: { "/api": { target: "http://127.0.0.1:7700", ws: true } },
  },
  test: { include: ["src/**/*.test.ts"] },
});
