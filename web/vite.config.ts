import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The hub serves the page under `default-src 'self'`, so nothing may be inlined as a data address.
export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    manifest: true,
    modulePreload: { polyfill: false },
  },
  server: {
    host: "127.0.0.1",
    proxy: { "/api": { target: "http://127.0.0.1:7700", ws: true } },
  },
  test: { include: ["src/**/*.test.ts"] },
});
