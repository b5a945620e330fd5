/** Runs the Mocha tests in the extension host of a real VS Code (code-server), and ends with their result.
 *
 * `node hostrun.js [SUITE...]`: all of them where none is named; LLAMAGENT_TEST_GREP takes only some tests. */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { format } from "node:util";

import type { Browser, Page } from "playwright-core";

import { heaviest } from "./harness/heaviest";
import { checkTools, EXTENSION } from "./harness/places";
import { startBrowser, startCodeServer } from "./harness/server";
import { ownTemporaryFolder } from "./harness/temporary";

const PATIENCE_MS = 420_000;

/** Each suite with the settings that it needs before VS Code starts. */
const SUITES: Record<string, Record<string, unknown>> = {
  suite: {},
  untrusted: { "security.workspace.trust.enabled": true, "security.workspace.trust.startupPrompt": "never" },
};
const PROFILE = "profile";
const ALWAYS = { "files.autoSave": "off" }; // its default in a browser would save what must stay unsaved

const NOISE = /^%c|^(Resolv|Creating|Updating)|open-vsx|^Canceled|^\[|marketplace/i;

async function main(): Promise<number> {
  checkTools();
  ownTemporaryFolder();
  const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(SUITES);
  const browser = await startBrowser();
  try {
    let code = 0;
    for (const name of names) {
      const settings = name === PROFILE ? {} : SUITES[name];
      if (settings === undefined) {
        throw new Error(`no suite ${name}; there are ${[...Object.keys(SUITES), PROFILE].join(", ")}`);
      }
      const result = await run(browser, name, { ...ALWAYS, ...settings });
      code = code === 0 ? result : code;
    }
    return code;
  } finally {
    await browser.close();
  }
}

async function run(browser: Browser, name: string, settings: Record<string, unknown>): Promise<number> {
  const temporary = (part: string): string => mkdtempSync(join(tmpdir(), `llamagent-${part}-`));
  // Its extension host inherits these. A test has a minute: what it waits for in vain is to be named before that.
  process.env["LLAMAGENT_TEST_SUITE"] = name;
  process.env["LLAMAGENT_PATIENCE_MS"] ??= "40000";
  const server = await startCodeServer(temporary("none"), settings);
  const page = await browser.newPage({ viewport: { width: 1700, height: 1000 } });
  try {
    const seen = { summary: false };
    const finished = new Promise<number>((resolve, reject) => {
      // It keeps this process alive: with nothing left to wait for, Node would end with 0.
      const timer = setTimeout(() => reject(new Error("the tests do not come to an end")), PATIENCE_MS);
      browser.once("disconnected", () => reject(new Error("the browser ended before the tests did")));
      void page.exposeFunction("codeAutomationExit", (code: number) => {
        clearTimeout(timer);
        resolve(code);
      });
      void page.exposeFunction("codeAutomationLog", (_: string, args: unknown[]) => {
        const line = format(...args);
        seen.summary ||= /^\s*\d+ passing/m.test(line);
        if (!NOISE.test(line)) {
          process.stdout.write(`${line}\n`);
        }
      });
    });
    await page.goto(address(server.url, temporary("ws")));
    void grantTrust(page);
    const code = name === PROFILE ? await profiled(page, finished) : await finished;
    if (code === 0 && !seen.summary) {
      throw new Error("the extension host ended before the tests did"); // as when it loses its window for too long
    }
    return code;
  } finally {
    await page.close();
    server.stop();
  }
}

/** VS Code's window is a process of its own: what it does meanwhile is told too. */
async function profiled(page: Page, finished: Promise<number>): Promise<number> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Profiler.enable");
  await devtools.send("Profiler.start");
  const code = await finished;
  const { profile } = await devtools.send("Profiler.stop");
  console.log(["the window:", ...heaviest(profile)].join("\n"));
  return code;
}

/** The person's click, once a test opened the editor of trust. */
async function grantTrust(page: Page): Promise<void> {
  try {
    const button = page.locator(".workspace-trust-editor .monaco-button").filter({ hasText: /^Trust$/ });
    await button.first().click({ timeout: PATIENCE_MS });
  } catch {
    return; // no test wanted it
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
