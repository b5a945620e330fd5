/** A code-server with folders of its own, and a Chromium that shows it. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type Browser, chromium } from "playwright-core";

import { CHROMIUM, CODE_SERVER, NODE } from "./places";
import { until } from "./waiting";

const QUIET = {
  "workbench.startupEditor": "none",
  "security.workspace.trust.enabled": false,
  "chat.disableAIFeatures": true,
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "telemetry.telemetryLevel": "off",
  "workbench.tips.enabled": false,
  "workbench.hover.delay": 600_000, // what hovers where the pointer happens to be covers what is to be clicked
  "git.enabled": false,
};

export interface CodeServer {
  url: string;
  pid: number;
  userData: string;
  stop(): void;
}

/** `settings` are there before it starts: later ones are not read. */
export async function startCodeServer(
  extensions: string,
  settings: Record<string, unknown>,
  flags: readonly string[] = [],
): Promise<CodeServer> {
  const userData = mkdtempSync(join(tmpdir(), "llamagent-user-"));
  for (const place of ["User", "Machine"]) {
    mkdirSync(join(userData, place), { recursive: true });
    writeFileSync(join(userData, place, "settings.json"), JSON.stringify({ ...QUIET, ...settings }));
  }
  const port = await freePort();
  const args = [CODE_SERVER, "--auth", "none", "--bind-addr", `127.0.0.1:${String(port)}`];
  args.push("--user-data-dir", userData, "--extensions-dir", extensions, "--disable-telemetry");
  args.push("--disable-update-check", "--reconnection-grace-time", "5", "--vscode-option", "enable-smoke-test-driver");
  const env = { ...process.env, ...nothingOfTheUser(userData) };
  const child: ChildProcess = spawn(NODE, [...args, ...flags], { env, stdio: "ignore", detached: true });
  const url = `http://127.0.0.1:${String(port)}`;
  await until("code-server", () => answers(`${url}/healthz`));
  const { pid } = child;
  if (pid === undefined) {
    throw new Error("code-server did not start");
  }
  const stop = (): void => {
    if (child.exitCode === null) {
      process.kill(-pid, "SIGKILL"); // with its extension hosts and their daemons
    }
  };
  return { url, pid, userData, stop };
}

/** The ids of the daemons that its windows started and that still run. */
export function daemonsOf({ pid }: CodeServer): number[] {
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return ids.filter((id) => isDaemon(id, pid)).map(Number);
}

function isDaemon(id: string, group: number): boolean {
  try {
    const [, , , itsGroup] = (readFileSync(`/proc/${id}/stat`, "utf8").split(")").at(-1) ?? "").split(" ");
    return Number(itsGroup) === group && readFileSync(`/proc/${id}/cmdline`, "utf8").includes("start.py");
  } catch {
    return false; // it ended while it was looked at
  }
}

/** The settings and conversations of the person whose machine this is stay out. */
function nothingOfTheUser(folder: string): NodeJS.ProcessEnv {
  return { LLAMAGENT_HOME: join(folder, "home"), OLLAMA_URL: "", OLLAMA_HOST: "", OLLAMA_MODEL: "" };
}

export function install(vsix: string, extensions: string): void {
  const userData = mkdtempSync(join(tmpdir(), "llamagent-install-"));
  const args = [CODE_SERVER, "--user-data-dir", userData, "--extensions-dir", extensions, "--install-extension", vsix];
  const { status, stderr } = spawnSync(NODE, args, { encoding: "utf8" });
  if (status !== 0) {
    throw new Error(`the extension could not be installed: ${stderr}`);
  }
}

export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false; // not listening yet
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => {
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      });
    });
  });
}
