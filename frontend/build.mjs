// Builds everything that is committed: node build.mjs [ROOT], by default into the repository itself.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, copyFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(process.argv[2] ?? join(here, ".."));
const assets = join(root, "src", "toplist", "service", "http", "assets");
const packaged = join(root, "frontend", "package");
const shared = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
};
const tracker = { ...shared, banner: { js: "/*! toplist tracker, Apache-2.0 */" } };

mkdirSync(assets, { recursive: true });
mkdirSync(packaged, { recursive: true });
await build({ ...tracker, entryPoints: ["src/tracker/main.ts"], outfile: join(assets, "tracker.js") });
await build({ ...tracker, entryPoints: ["src/tracker/track.ts"], outfile: join(packaged, "tracker.js") });

await build({ ...shared, entryPoints: ["src/dashboard/main.ts"], outfile: join(assets, "dashboard.js") });
await build({ ...shared, entryPoints: ["src/dashboard/dashboard.css"], outfile: join(assets, "dashboard.css") });
copyFileSync(join(here, "src", "dashboard", "page.html"), join(assets, "page.html"));
await build({ ...shared, entryPoints: ["src/playground/main.ts"], outfile: join(assets, "playground.js") });
await build({ ...shared, entryPoints: ["src/playground/playground.css"], outfile: join(assets, "playground.css") });
copyFileSync(join(here, "src", "playground", "page.html"), join(assets, "playground.html"));
copyFileSync(join(here, "node_modules", "uplot", "LICENSE"), join(assets, "uPlot.LICENSE"));

const types = mkdtempSync(join(tmpdir(), "toplist-types-"));
try {
  const tsc = join(here, "node_modules", "typescript", "bin", "tsc");
  const flags = ["--declaration", "--emitDeclarationOnly", "--outDir", types, "--rootDir", join(here, "src")];
  execFileSync(process.execPath, [tsc, "--project", here, ...flags], { stdio: "inherit" });
  copyFileSync(join(types, "tracker", "track.d.ts"), join(packaged, "tracker.d.ts"));
} finally {
  rmSync(types, { recursive: true });
}
