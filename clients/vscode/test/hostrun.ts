/** Runs the Mocha tests in the extension host of a real VS Code (code-server), and ends with their result. With
 * LLAMAGENT_TEST_GREP only those whose names match it. */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { format } from "node:util";

import { checkTools, EXTENSION } from "./harness/places";
import { startBrowser, startCodeServer } from "./harness/server";

const PATIENCE_MS = 300_000;

async function main(): Promise<number> {
  checkTools();
  const temporary = (name: string): string => mkdtempSync(join(tmpdir(), `llamagent-${name}-`));
  const server = await startCodeServer(temporary("none"), { "security.workspace.trust.enabled": false });
  const browser = await startBrowser();
  try {
    const seen = { summary: false };
    const page = await browser.newPage({ viewport: { width: 1700, height: 1000 } });
    const finished = new Promise<number>((resolve, reject) => {
      // It keeps this process alive: with nothing left to wait for, Node would end with 0.
      setTimeout(() => reject(new Error("the tests do not come to an end")), PATIENCE_MS);
      browser.once("disconnected", () => reject(new Error("the browser ended before the tests did")));
      void page.exposeFunction("codeAutomationExit", resolve);
      void page.exposeFunction("codeAutomationLog", (_: string, args: unknown[]) => {
        const line = format(...args);
        seen.summary ||= /^\s*\d+ passing/m.test(line);
        if (!/^%c|^(Resolv|Creating|Updating)|open-vsx|^Canceled|^\[|marketplace/i.test(line)) {
          process.stdout.write(`${line}\n`);
        }
      });
    });
    await page.goto(address(server.url, temporary("ws")));
    const code = await finished;
    if (code === 0 && !seen.summary) {
      throw new Error("the extension host ended before the tests did"); // as when it loses its window for too long
    }
    return code;
  } finally {
    await browser.close();
    server.stop();
  }
}

function address(url: string, workspace: string): string {
  const remote = `vscode-remote://${new URL(url).host}`;
  const payload = [
    ["extensionDevelopmentPath", `${remote}${EXTENSION}`],
    ["extensionTestsPath", `${remote}${join(EXTENSION, "test-out", "host", "index.js")}`],
    ["skipWelcome", "true"],
  ];
  return `${url}/?folder=${encodeURIComponent(workspace)}&payload=${encodeURIComponent(JSON.stringify(payload))}`;
}

main().then(
  (code) => process.exit(code),
  (problem: unknown) => {
    console.error(problem);
    process.exit(1);
  },
);
