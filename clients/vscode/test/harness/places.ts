/** Where the tools of these tests are: code-server, its Node, Chromium, the project's Python. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

// Bundled into test-out/ or a folder below it.
export const EXTENSION = resolve(__dirname.replace(/test-out.*$/, ""));
export const PROJECT = resolve(EXTENSION, "..", "..");
const TOOLS = process.env["LLAMAGENT_VSCODE_TOOLS"] ?? join(PROJECT, ".cache", "vscode");

export const PYTHON = join(PROJECT, ".venv", "bin", "python");
export const NODE = join(TOOLS, "node24", "bin", "node");
export const CODE_SERVER = join(TOOLS, "code-server", "node_modules", "code-server", "out", "node", "entry.js");
export const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
export const VSIX = join(EXTENSION, "llamagent.vsix");

/** Says what is missing, by the script that brings it. */
export function checkTools(): void {
  const missing = [PYTHON, NODE, CODE_SERVER, CHROMIUM, VSIX].filter((path) => !existsSync(path));
  if (missing.length > 0) {
    throw new Error(`missing: ${missing.join(", ")}; run clients/vscode/ci.sh, which sets them up`);
  }
}
