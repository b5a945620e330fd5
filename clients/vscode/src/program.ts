/** Which program the daemon is: the person's own command, or a Python that can run the one in this extension. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import * as vscode from "vscode";

import { interpreter, serverCommand } from "./settings";

const OLDEST = [3, 11] as const;
const ANSWER_MS = 10_000;

export interface Program {
  command: string;
  args: string[];
}

/** Nothing can start the daemon; the message says what is missing. */
export class NoProgram extends Error {}

/** Throws NoProgram. */
export async function findProgram(extension: vscode.Uri): Promise<Program> {
  const [command, ...args] = serverCommand();
  if (command !== undefined) {
    return { command, args };
  }
  const start = join(extension.fsPath, "bundled", "start.py");
  const problems: string[] = [];
  for await (const [program, ...before] of candidates()) {
    const problem = await problemOf(program, before);
    if (problem === null) {
      return { command: program, args: [...before, "-P", start, "serve", "--stdio"] };
    }
    problems.push(problem);
  }
  const needed = vscode.l10n.t("llamagent needs Python {0} or newer, and found none that works.", OLDEST.join("."));
  throw new NoProgram(`${needed} ${problems.join("; ")}`);
}

type Candidate = [program: string, ...args: string[]];

/** In the order of preference; a set interpreter is the only one, so that a mistake in it is seen. */
async function* candidates(): AsyncGenerator<Candidate> {
  const own = interpreter();
  if (own !== "") {
    yield [own];
    return;
  }
  const active = await activeInterpreter();
  if (active !== null) {
    yield [active];
  }
  yield ["python3"];
  yield ["python"];
  if (process.platform === "win32") {
    yield ["py", "-3"];
  }
}

interface PythonApi {
  environments?: { getActiveEnvironmentPath(): { path: string } };
}

/** That of the Python extension, where it is installed and already running. */
async function activeInterpreter(): Promise<string | null> {
  const extension = vscode.extensions.getExtension<PythonApi | undefined>("ms-python.python");
  if (extension === undefined || !vscode.workspace.isTrusted) {
    return null;
  }
  const api = await extension.activate();
  const path = api?.environments?.getActiveEnvironmentPath().path;
  return path === undefined || path === "" ? null : path;
}

/** Null where the Python is new enough. */
async function problemOf(program: string, args: readonly string[]): Promise<string | null> {
  const code = "import sys; print(*sys.version_info[:2])";
  try {
    const { stdout } = await promisify(execFile)(program, [...args, "-I", "-c", code], { timeout: ANSWER_MS });
    const [major = 0, minor = 0] = stdout.trim().split(" ").map(Number);
    const old = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
    return old ? `${program}: ${String(major)}.${String(minor)}` : null;
  } catch (problem) {
    return `${program}: ${reason(problem)}`;
  }
}

/** Why a program could not be started, in few words. */
export function reason(problem: unknown): string {
  const { code, message } = problem as { code?: unknown; message?: string };
  return code === "ENOENT" ? vscode.l10n.t("not found") : ((message ?? String(problem)).split("\n")[0] ?? "");
}

/** The path of the ripgrep that VS Code itself searches with, where it is in one of its usual places. */
export function editorsRipgrep(): string | null {
  const name = process.platform === "win32" ? "rg.exe" : "rg";
  const platform = `${process.platform}-${process.arch}`;
  const places = ["node_modules", "node_modules.asar.unpacked"].flatMap((modules) => [
    join(vscode.env.appRoot, modules, "@vscode", "ripgrep", "bin", name),
    join(vscode.env.appRoot, modules, "@vscode", "ripgrep-universal", "bin", platform, name),
  ]);
  return places.find((place) => existsSync(place)) ?? null;
}
