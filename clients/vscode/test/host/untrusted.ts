/** A folder that the person does not trust, and then does. It has a window of its own: trust is the window's. */

import * as assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import * as vscode from "vscode";

import { personsSettings } from "../../src/settings";
import { until } from "../harness/waiting";
import { Conversation } from "./agent";

describe("a folder that is not trusted", () => {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";

  it("is worked in, but sets nothing, and the daemon is told so", async () => {
    assert.equal(vscode.workspace.isTrusted, false);
    mkdirSync(join(folder, ".llamagent"), { recursive: true });
    writeFileSync(join(folder, ".llamagent", "config.toml"), 'model = "of-the-folder"\n');
    const talk = await Conversation.start([{ content: "Here." }]);
    try {
      assert.equal((await talk.ask()).answer, "Here.");
      const { settings, problems } = await talk.parts.daemon.call("config", {});
      assert.equal(settings.find(({ key }) => key === "model")?.value, "qwen3.5:4b", JSON.stringify(problems));
      assert.equal(personsSettings()["model"], undefined);
    } finally {
      await talk.stop();
    }
  });

  it("counts once it is trusted, after the turn that runs", async () => {
    const talk = await Conversation.start([{ content: "Before.", delay: 3 }]);
    try {
      const { pid } = talk.parts.daemon;
      const asked = talk.ask();
      await until("the turn", () => talk.parts.conversation.running !== undefined);
      // The window that runs these tests presses the button.
      await vscode.commands.executeCommand("workbench.trust.manage");
      await until("the trust", () => vscode.workspace.isTrusted);
      assert.equal((await asked).answer, "Before.");
      await until("another daemon", () => ![pid, undefined].includes(talk.parts.daemon.pid));
      const { settings } = await talk.parts.daemon.call("config", {});
      assert.equal(settings.find(({ key }) => key === "model")?.value, "of-the-folder");
    } finally {
      await talk.stop();
    }
  });
});
