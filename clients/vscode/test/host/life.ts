/** The daemon's life: killed at any moment, restarted, of another version, not there at all. */

import * as assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as vscode from "vscode";

import type { Parts } from "../../src/parts";
import { restartWhenIdle } from "../../src/restarts";
import { MACHINE } from "../../src/settings";
import { call, type Reply } from "../harness/fakes";
import { PYTHON, VSIX } from "../harness/places";
import { until } from "../harness/waiting";
import { Conversation, daemons, extensionParts, File, Person, reviewTabs, setSettings } from "./agent";

const done = { content: "Done." };
const touch = (file: File): Reply => call("run_command", { command: `python -c "open('${file.name}', 'w')"` });
const edit = (file: File): Reply => call("edit_file", { path: file.name, old_text: "one", new_text: "1" });

function kill({ daemon }: Parts): void {
  assert.ok(daemon.pid !== undefined, "no daemon runs");
  process.kill(daemon.pid, "SIGKILL");
}

const commandOf = (pid: number | undefined): string =>
  pid === undefined ? "" : readFileSync(`/proc/${String(pid)}/cmdline`, "utf8");

function nothingWaits({ conversation, reviews, consents, daemon }: Parts): void {
  assert.equal(daemon.state, "failed");
  assert.equal(conversation.running, undefined);
  assert.deepEqual(conversation.queue, []);
  assert.deepEqual(reviews.pending(), []);
  assert.deepEqual(consents.pending(), []);
  assert.deepEqual(reviewTabs(), []);
}

describe("the daemon", () => {
  let person: Person;

  beforeEach(() => {
    person = new Person();
  });

  afterEach(async () => {
    person.leave();
    await setSettings({ "server.command": undefined, "server.interpreter": undefined });
    const parts = await extensionParts();
    await until("the daemon", () => parts.daemon.state === "running");
  });

  it("is started once however many ask at the same time", async () => {
    const { daemon } = await extensionParts();
    await daemon.stop();
    assert.deepEqual(daemons(), []);
    const [one, two] = await Promise.all([daemon.ensure(), daemon.ensure()]);
    assert.equal(one, two);
    await Promise.all([daemon.restart(), daemon.restart(), daemon.ensure(), daemon.restart()]);
    assert.equal(daemon.state, "running");
    assert.deepEqual(daemons(), [daemon.pid]);
  });

  const open: [string, (file: File) => Reply, (talk: Conversation) => Promise<void>][] = [
    [
      "in mid-stream",
      () => ({ content: "many words that come one after the other", hold_after: 3 }),
      (talk) => until("the first words", () => talk.of("model.delta").length > 0),
    ],
    ["with a review open", edit, (talk) => talk.review()],
    ["with a question open", touch, (talk) => until("it", () => talk.parts.consents.pending().length > 0)],
  ];
  for (const [when, reply, opened] of open) {
    it(`that is killed ${when} leaves nothing behind, says so, and the conversation goes on`, async () => {
      const file = new File("one\n");
      const talk = await Conversation.start([done, reply(file), { content: "Back again." }]);
      try {
        await talk.ask("First.");
        const asked = talk.ask("Second.").catch(() => "failed");
        await opened(talk);
        const { parts } = talk;
        kill(parts);
        assert.equal(await asked, "failed");
        const { buttons } = await person.hears(/daemon ended .*\(SIGKILL\)/);
        assert.deepEqual([...buttons].sort(), ["Restart", "Show Log"]);
        await until("the review to go", () => reviewTabs().length === 0);
        nothingWaits(parts);
        await vscode.commands.executeCommand("llamagent.ui.accept");
        assert.equal(await file.text(), "one\n");
        await vscode.commands.executeCommand("llamagent.ui.restart");
        assert.equal(parts.daemon.state, "running");
        assert.equal((await talk.ask("Third.")).answer, "Back again.");
        const asks = talk.of("turn.started").map(({ text }) => text);
        assert.deepEqual(asks, ["First.", "Second.", "Third."]);
        assert.deepEqual(new Set(talk.of("turn.started").map(({ session }) => session)).size, 1);
      } finally {
        await talk.stop();
      }
    });
  }

  it("that is killed while nothing goes on says so, and is not started again before someone wants it", async () => {
    const parts = await extensionParts();
    kill(parts);
    await person.hears(/daemon ended .*\(SIGKILL\)/);
    nothingWaits(parts);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assert.deepEqual(daemons(), []);
    assert.equal(parts.daemon.state, "failed");
  });

  it("that ends again soon after its start points at the log, and does not go round in circles", async () => {
    const parts = await extensionParts();
    await parts.daemon.restart();
    kill(parts);
    person.presses.push("Restart");
    const first = await person.hears(/soon after its start/);
    assert.deepEqual(first.buttons, ["Show Log", "Restart"]);
    await until("the restart", () => parts.daemon.state === "running");
    kill(parts);
    await until("its end", () => person.told.length === 2);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assert.deepEqual([parts.daemon.state, daemons()], ["failed", []]);
  });

  for (const [what, command, words] of [
    ["ends in its start", [PYTHON, "-c", "import sys; sys.exit(3)"], /ended while it started \(exit code 3\)/],
    ["cannot be started", ["/nowhere/llamagent-server"], /\/nowhere\/llamagent-server: not found/],
  ] as const) {
    it(`that ${what} says so once, with the way to the settings and the log`, async () => {
      const { daemon } = await extensionParts();
      await setSettings({ "server.command": command });
      await until("the failure", () => daemon.state === "failed");
      person.told.length = 0;
      void vscode.commands.executeCommand("llamagent.ui.restart"); // it ends with its message
      const { buttons } = await person.hears(words);
      assert.deepEqual(buttons, ["Open Settings", "Show Log"]);
      assert.equal(person.told.length, 1);
    });
  }

  it("that hangs in its start does not keep another from starting", async () => {
    const { daemon } = await extensionParts();
    await setSettings({ "server.command": ["sleep", "600"] });
    await until("the start", () => daemon.state === "starting");
    await setSettings({ "server.command": undefined });
    await until("the daemon", () => daemon.state === "running");
    assert.deepEqual(daemons(), [daemon.pid]);
  });

  it("of another version says so", async () => {
    const run = "import llamagent_server as s; s.__version__ = '9.9.9'; from llamagent_server.cli import main; main()";
    const { daemon } = await extensionParts();
    await setSettings({ "server.command": [PYTHON, "-c", run, "serve", "--stdio"] });
    const { text } = await person.hears(/9\.9\.9/);
    assert.match(text, /0\.1\.0/);
    await until("the daemon", () => daemon.state === "running");
  });

  it("without a Python says what is missing, with a button", async () => {
    const { daemon } = await extensionParts();
    await setSettings({ "server.interpreter": "/nowhere/python3" });
    await until("the failure", () => daemon.state === "failed");
    person.told.length = 0;
    void vscode.commands.executeCommand("llamagent.ui.new"); // it ends with its message
    const { text, buttons } = await person.hears(/needs Python 3\.11 or newer/);
    assert.match(text, /\/nowhere\/python3: not found/);
    assert.deepEqual(buttons, ["Open Settings", "Show Log"]);
  });

  it("without any Python on the PATH says so too", async () => {
    const { daemon } = await extensionParts();
    const path = process.env["PATH"];
    process.env["PATH"] = "/nowhere";
    try {
      await assert.rejects(daemon.restart(), /needs Python 3\.11 or newer.*python3: not found; python: not found/);
      assert.equal(daemon.state, "failed");
    } finally {
      process.env["PATH"] = path;
    }
  });

  it("of the package runs by a bare Python, with nothing but what came along", async () => {
    const folder = mkdtempSync(join(tmpdir(), "llamagent-package-"));
    assert.equal(spawnSync(PYTHON, ["-m", "zipfile", "-e", VSIX, folder]).status, 0);
    const start = join(folder, "extension", "bundled", "start.py");
    const outside = spawnSync(PYTHON, ["-c", "import sys; print(sys._base_executable)"], { encoding: "utf8" });
    const bare = [outside.stdout.trim(), "-I", "-S", start, "serve", "--stdio"];
    const { daemon } = await extensionParts();
    await setSettings({ "server.command": bare });
    await until("that daemon", () => daemon.state === "running" && commandOf(daemon.pid).includes(start));
    const talk = await Conversation.start([{ content: "From the package." }]);
    try {
      assert.equal((await talk.ask()).answer, "From the package.");
    } finally {
      await talk.stop();
    }
  });

  it("is not restarted under a turn that runs, but after it", async () => {
    const talk = await Conversation.start([{ content: "Slow.", delay: 1.5 }, done]);
    try {
      const { daemon } = talk.parts;
      const { pid } = daemon;
      const asked = talk.ask();
      await until("the turn", () => talk.parts.conversation.running !== undefined);
      const restarted = restartWhenIdle(talk.parts, "This folder is trusted now.");
      const { text, buttons } = await person.hears(/trusted now/);
      assert.match(text, /as soon as the running turn has ended/);
      assert.deepEqual(buttons, ["Restart Now"]);
      assert.equal((await asked).answer, "Slow.");
      assert.equal(daemon.pid, pid);
      await restarted;
      assert.notEqual(daemon.pid, pid);
      assert.equal((await talk.ask()).answer, "Done.");
    } finally {
      await talk.stop();
    }
  });

  it("is restarted under a turn when the person says so", async () => {
    const talk = await Conversation.start([{ content: "Slow.", delay: 30 }]);
    try {
      const { pid } = talk.parts.daemon;
      const asked = talk.ask().catch(() => "failed");
      await until("the turn", () => talk.parts.conversation.running !== undefined);
      person.presses.push("Restart Now");
      await restartWhenIdle(talk.parts, "This folder is trusted now.");
      assert.equal(await asked, "failed");
      assert.notEqual(talk.parts.daemon.pid, pid);
    } finally {
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

describe("a setting that names a server or a program", () => {
  const ofTheWorkspace = (key: string, value: unknown): Thenable<void> =>
    vscode.workspace.getConfiguration("llamagent").update(key, value, vscode.ConfigurationTarget.Workspace);

  for (const key of [...MACHINE, "server.command", "server.interpreter"]) {
    it(`is not the project's to set: ${key}`, async () => {
      await assert.rejects(async () => ofTheWorkspace(key, "anything"), /cannot|not support|Unable/i);
    });
  }

  it("counts from the person alone, while other settings may be the project's", async () => {
    const { daemon } = await extensionParts();
    const value = async (key: string): Promise<unknown> => {
      const { settings } = await daemon.call("config", {});
      return settings.find((setting) => setting.key === key)?.value;
    };
    try {
      await ofTheWorkspace("max_steps", 7);
      await until("the project's setting", async () => (await value("max_steps")) === 7);
    } finally {
      await ofTheWorkspace("max_steps", undefined);
    }
    await until("the default", async () => (await value("max_steps")) === 15);
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
