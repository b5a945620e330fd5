/** The daemon's life and the questions about commands. */

import * as assert from "node:assert/strict";
import { existsSync } from "node:fs";

import * as vscode from "vscode";

import { call } from "../harness/fakes";
import { until } from "../harness/waiting";
import { Conversation, extensionParts, File, reviewTabs } from "./agent";

const done = { content: "Done." };
const touch = (file: File): ReturnType<typeof call> =>
  call("run_command", { command: `python -c "open('${file.name}', 'w')"` });

async function daemonPid(talk: Conversation): Promise<number> {
  const client = await talk.parts.daemon.ensure();
  const server = (client as unknown as { _serverProcess?: { pid?: number } })._serverProcess;
  assert.ok(server?.pid, "the client's process is not where this test looks for it");
  return server.pid;
}

describe("the daemon", () => {
  it("is started once however many ask at the same time", async () => {
    const parts = await extensionParts();
    await parts.daemon.stop();
    const [one, two] = await Promise.all([parts.daemon.ensure(), parts.daemon.ensure()]);
    assert.equal(one, two);
    await Promise.all([parts.daemon.restart(), parts.daemon.ensure()]);
    assert.equal(parts.daemon.state, "running");
  });

  it("that is killed with a review open leaves nothing behind, and comes back", async () => {
    const file = new File("one\n");
    const edit = call("edit_file", { path: file.name, old_text: "one", new_text: "1" });
    const talk = await Conversation.start([edit, done]);
    try {
      const asked = talk.ask().catch(() => "failed");
      await talk.review();
      process.kill(await daemonPid(talk), "SIGKILL");
      assert.equal(await asked, "failed");
      await until("the review to go", () => reviewTabs().length === 0);
      await vscode.commands.executeCommand("llamagent.ui.accept");
      assert.equal(await file.text(), "one\n");
      assert.equal(talk.parts.daemon.state, "failed");
      await talk.parts.daemon.ensure();
      assert.equal(talk.parts.daemon.state, "running");
    } finally {
      await talk.stop();
    }
  });

  it("that is killed with a question open runs nothing", async () => {
    const file = new File(null, "never.txt");
    const talk = await Conversation.start([touch(file), done]);
    try {
      const asked = talk.ask().catch(() => "failed");
      await until("the question", () => talk.parts.consents.pending().length > 0);
      process.kill(await daemonPid(talk), "SIGKILL");
      assert.equal(await asked, "failed");
      await until("the question to go", () => talk.parts.consents.pending().length === 0);
      assert.ok(!existsSync(file.path));
    } finally {
      await talk.parts.daemon.ensure();
      await talk.stop();
    }
  });

  it("tells what to do where no model server listens", async () => {
    const talk = await Conversation.start([], { url: "http://127.0.0.1:9" });
    try {
      await assert.rejects(talk.ask(), (problem: { data?: { kind?: string } }) => {
        return problem.data?.kind === "model_unreachable";
      });
    } finally {
      await talk.stop();
    }
  });
});

describe("a command of the model", () => {
  for (const decision of ["run", "refuse"] as const) {
    it(`waits for the answer: ${decision}`, async () => {
      const file = new File(null);
      const talk = await Conversation.start([touch(file), done]);
      try {
        const asked = talk.ask();
        await until("the question", () => talk.parts.consents.pending().length > 0);
        assert.ok(!existsSync(file.path));
        talk.parts.consents.decide({ decision });
        await asked;
        assert.equal(existsSync(file.path), decision === "run");
      } finally {
        await talk.stop();
      }
    });
  }

  it("is taken back when the turn is stopped", async () => {
    const file = new File(null);
    const talk = await Conversation.start([touch(file), done]);
    try {
      const asked = talk.ask();
      await until("the question", () => talk.parts.consents.pending().length > 0);
      await vscode.commands.executeCommand("llamagent.ui.stop");
      assert.equal((await asked).stopReason, "cancelled");
      await until("the question to go", () => talk.parts.consents.pending().length === 0);
      assert.ok(!existsSync(file.path));
    } finally {
      await talk.stop();
    }
  });
});
