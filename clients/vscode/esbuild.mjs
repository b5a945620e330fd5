/** Builds the extension (Node) and the panel's page (browser), each into one file. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

import { build } from "esbuild";

const tests = process.argv.includes("--tests");

const common = {
  bundle: true,
  minify: true,
  sourcemap: false,
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
};

const extension = await build({
  ...common,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
});
const page = await build({
  ...common,
  entryPoints: ["src/webview/main.ts"],
  outfile: "media/panel.js",
  platform: "browser",
  format: "iife",
  target: "es2022",
});
writeLicences([extension, page].flatMap(({ metafile }) => Object.keys(metafile.inputs)));

/** What was built in keeps its licences: all of them, one after the other, beside the code. */
function writeLicences(inputs) {
  const packages = new Set(inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean));
  const texts = [...packages].sort().map((folder) => {
    const files = readdirSync(folder).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
    if (files.length === 0) {
      throw new Error(`${folder} has no licence to hand on`);
    }
    return [
      folder.replace(/^.*node_modules\//, ""),
      ...files.map((name) => readFileSync(`${folder}/${name}`, "utf8")),
    ].join("\n\n");
  });
  mkdirSync("dist", { recursive: true });
  writeFileSync("dist/LICENSES.txt", texts.join("\n\n---\n\n"));
}

if (tests) {
  await build({
    ...common,
    minify: false,
    entryPoints: [
      "test/shots.ts",
      "test/hostrun.ts",
      "test/panelbench.ts",
      "test/host/index.ts",
      "test/host/suite.ts",
      "test/host/untrusted.ts",
      "test/host/profile.ts",
      "test/clicks/suite.ts",
    ],
    outbase: "test",
    outdir: "test-out",
    platform: "node",
    format: "cjs",
    target: "node20",
    packages: "external",
    external: ["vscode"],
  });
}
