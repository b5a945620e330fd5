/** The scripted model server (tests/fakes) as a child that says its port. */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { PROJECT, PYTHON } from "./places";
import { until } from "./waiting";

export interface Reply {
  content?: string;
  thinking?: string;
  tool_calls?: { name: string; arguments: Record<string, unknown> }[];
  delay?: number;
  hold_after?: number;
}

export interface Model {
  url: string;
  port: number;
  /** Lets every reply go on that waits at its `hold_after`, now and later. */
  release(): void;
  stop(): void;
}

/** `models` are those that the server has; qwen3.5:4b alone where none are named. */
export async function startModel(replies: readonly Reply[], models: readonly string[] = []): Promise<Model> {
  const folder = mkdtempSync(join(tmpdir(), "llamagent-model-"));
  const script = join(folder, "script.jsonl");
  const portFile = join(folder, "port");
  writeFileSync(script, replies.map((reply) => JSON.stringify(reply)).join("\n") + "\n");
  const run = "from tests.fakes.fake_ollama import main; main()";
  const args = ["-c", run, "--script", script, "--port-file", portFile];
  args.push(...models.flatMap((name) => ["--model", name]));
  const child: ChildProcess = spawn(PYTHON, args, { cwd: PROJECT, stdio: ["ignore", "ignore", "inherit"] });
  await until("the model server", () => existsSync(portFile) && readFileSync(portFile, "utf8").trim() !== "");
  const port = Number(readFileSync(portFile, "utf8"));
  return {
    url: `http://127.0.0.1:${String(port)}`,
    port,
    release: () => void child.kill("SIGUSR1"),
    stop: () => void child.kill(),
  };
}

export function call(name: string, args: Record<string, unknown>): Reply {
  return { tool_calls: [{ name, arguments: args }] };
}
