/** Builds the extension (Node) and the panel's page (browser), each into one file. */
import { build } from "esbuild";

const tests = process.argv.includes("--tests");

const common = { bundle: true, minify: true, sourcemap: false, legalComments: "none", logLevel: "warning" };

await build({
  ...common,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
});
await build({
  ...common,
  entryPoints: ["src/webview/main.ts"],
  outfile: "media/panel.js",
  platform: "browser",
  format: "iife",
  target: "es2022",
});
if (tests) {
  await build({
    ...common,
    minify: false,
    entryPoints: ["test/shots.ts", "test/hostrun.ts", "test/host/index.ts", "test/host/suite.ts"],
    outbase: "test",
    outdir: "test-out",
    platform: "node",
    format: "cjs",
    target: "node20",
    packages: "external",
    external: ["vscode"],
  });
}
