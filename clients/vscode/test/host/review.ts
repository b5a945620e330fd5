/** The gate in a real editor, with the real daemon: what the person decides is what happens, and what the model hears. */

import * as assert from "node:assert/strict";
import { existsSync } from "node:fs";

import * as vscode from "vscode";

import { call } from "../harness/fakes";
import { until } from "../harness/waiting";
import { Conversation, File, reviewTabs } from "./agent";

const accept = (): Thenable<unknown> => vscode.commands.executeCommand("llamagent.ui.accept");
const reject = (): Thenable<unknown> => vscode.commands.executeCommand("llamagent.ui.reject");
const edit = (file: File, oldText: string, newText: string): ReturnType<typeof call> =>
  call("edit_file", { path: file.name, old_text: oldText, new_text: newText });
const done = { content: "Done." };
/** Those that show a proposal by itself. */
const tabsBeside = (): vscode.Tab[] =>
  vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .filter(({ input }) => input instanceof vscode.TabInputText && input.uri.scheme === "llamagent-proposed");

describe("a review", () => {
  let talk: Conversation | undefined;

  const start = async (...args: Parameters<typeof Conversation.start>): Promise<Conversation> => {
    talk = await Conversation.start(...args);
    return talk;
  };

  afterEach(async () => {
    await talk?.stop();
    talk = undefined;
    assert.deepEqual(reviewTabs(), [], "a review's tab is left behind");
  });

  it("changes the file only after the yes, and is told as accepted", async () => {
    const file = new File("one\ntwo\n");
    const talking = await start([edit(file, "two", "2"), done]);
    const asked = talking.ask();
    await talking.review();
    assert.equal(await file.text(), "one\ntwo\n");
    await accept();
    assert.equal((await asked).answer, "Done.");
    assert.equal(await file.text(), "one\n2\n");
    assert.deepEqual(
      talking.of("edit.resolved").map(({ outcome }) => outcome),
      ["accepted"],
    );
  });

  it("changes nothing after a no, and the model hears the reason", async () => {
    const file = new File("one\n");
    const talking = await start([edit(file, "one", "1"), done]);
    const asked = talking.ask();
    await talking.review();
    await talking.parts.reviews.reject("keep the word");
    await asked;
    assert.equal(await file.text(), "one\n");
    const [resolved] = talking.of("edit.resolved");
    assert.equal(resolved?.outcome, "rejected");
    assert.match(resolved.reason ?? "", /keep the word/);
    assert.match(talking.of("tool.returned")[0]?.content ?? "", /keep the word/);
  });

  it("whose tab is closed is a no", async () => {
    const file = new File("one\n");
    const talking = await start([edit(file, "one", "1"), done]);
    const asked = talking.ask();
    await talking.review();
    await vscode.window.tabGroups.close(reviewTabs());
    await asked;
    assert.equal(await file.text(), "one\n");
    assert.equal(talking.of("edit.resolved")[0]?.outcome, "rejected");
  });

  const typed = async (talking: Conversation): Promise<vscode.TextDocument> => {
    await talking.review();
    const [right] = talking.proposed();
    assert.ok(right !== undefined);
    const change = new vscode.WorkspaceEdit();
    change.insert(right.uri, new vscode.Position(0, 0), "# mine\n");
    assert.ok(await vscode.workspace.applyEdit(change));
    return right;
  };

  it("in which the person typed leaves no tab behind when its own is closed", async () => {
    const file = new File("one\n");
    const talking = await start([edit(file, "one", "1"), done]);
    const asked = talking.ask();
    const right = await typed(talking);
    await until("what was typed to be kept", () => !right.isDirty);
    await vscode.window.tabGroups.close(reviewTabs());
    await asked;
    assert.equal(await file.text(), "one\n");
    await until("no tab of it", () => tabsBeside().length === 0);
  });

  it("in which the person typed takes along the tab that VS Code opened beside it", async () => {
    const files = vscode.workspace.getConfiguration("files");
    await files.update("trimTrailingWhitespace", true, vscode.ConfigurationTarget.Global);
    try {
      const file = new File("one\n");
      const talking = await start([edit(file, "one", "1"), done], { save: "on_accept" });
      const asked = talking.ask();
      await typed(talking);
      await until("the other tab", () => tabsBeside().length === 1);
      await accept();
      await asked;
      assert.equal(await file.text(), "# mine\n1\n");
      await until("no tab", () => tabsBeside().length === 0);
    } finally {
      await files.update("trimTrailingWhitespace", undefined, vscode.ConfigurationTarget.Global);
    }
  });

  it("keeps what the person left of it, and the model is told what that is", async () => {
    const lines = Array.from({ length: 20 }, (_, i) => `line ${String(i)}`);
    const file = new File(lines.join("\n") + "\n");
    const wanted = lines.map((line, i) => (i === 1 || i === 18 ? line.toUpperCase() : line)).join("\n");
    const talking = await start([edit(file, lines.join("\n"), wanted), done]);
    const asked = talking.ask();
    await talking.review();
    const [right] = talking.proposed();
    assert.ok(right !== undefined);
    const change = new vscode.WorkspaceEdit();
    change.replace(right.uri, right.lineAt(18).range, "line 18");
    assert.ok(await vscode.workspace.applyEdit(change));
    await accept();
    await asked;
    const text = await file.text();
    assert.ok(text.includes("LINE 1\n") && text.includes("line 18\n"), text);
    const [resolved] = talking.of("edit.resolved");
    assert.equal(resolved?.outcome, "modified");
    const told = talking.of("tool.returned")[0]?.content ?? "";
    assert.ok(told.includes("+LINE 1\n") && !told.includes("LINE 18"), told);
  });

  it("is merged with what was typed in the file meanwhile", async () => {
    const file = new File("a\nb\nc\nd\ne\n");
    await file.show();
    const talking = await start([edit(file, "e", "E"), done]);
    const asked = talking.ask();
    await talking.review();
    const typed = new vscode.WorkspaceEdit();
    typed.insert(file.uri, new vscode.Position(0, 0), "typed\n");
    await vscode.workspace.applyEdit(typed);
    await accept();
    await asked;
    assert.equal(await file.text(), "typed\na\nb\nc\nd\nE\n");
  });

  it("is refused with the reason where the same lines were changed meanwhile", async () => {
    const file = new File("a\nb\n");
    await file.show();
    const talking = await start([edit(file, "b", "B"), done]);
    const asked = talking.ask();
    await talking.review();
    const typed = new vscode.WorkspaceEdit();
    typed.insert(file.uri, new vscode.Position(1, 0), "typed ");
    await vscode.workspace.applyEdit(typed);
    await accept();
    await asked;
    assert.equal(await file.text(), "a\ntyped b\n");
    const [resolved] = talking.of("edit.resolved");
    assert.equal(resolved?.outcome, "failed");
    assert.match(resolved.reason ?? "", /stale/);
  });

  it("is shown although the person types elsewhere in the file when the edit comes", async () => {
    const file = new File("a\nb\nc\n");
    await file.show();
    const talking = await start([{ ...edit(file, "c", "C"), delay: 0.3 }, done]);
    const asked = talking.ask();
    let typed = 0;
    while (talking.parts.reviews.pending().length === 0 && talking.of("edit.resolved").length === 0) {
      await vscode.commands.executeCommand("default:type", { text: "x" });
      typed += 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await talking.review();
    await accept();
    await asked;
    assert.equal(await file.text(), `${"x".repeat(typed)}a\nb\nC\n`);
  });

  it("creates a file, and one undo takes it away again", async () => {
    const file = new File(null);
    const talking = await start([call("write_file", { path: file.name, content: "new\n" }), done]);
    const asked = talking.ask();
    await talking.review();
    assert.ok(!existsSync(file.path));
    await accept();
    await asked;
    assert.equal(file.disk, "new\n");
    await file.show();
    await vscode.commands.executeCommand("undo");
    await until("the new file to go", () => !existsSync(file.path));
  });

  it("of two places in a file is undone in one step", async () => {
    const file = new File("a\nb\nc\nd\n");
    const talking = await start([edit(file, "a\nb\nc\nd", "A\nb\nc\nD"), done]);
    const asked = talking.ask();
    await talking.review();
    await accept();
    await asked;
    assert.equal(await file.text(), "A\nb\nc\nD\n");
    await file.show();
    await vscode.commands.executeCommand("undo");
    assert.equal(await file.text(), "a\nb\nc\nd\n");
  });

  for (const save of ["on_accept", "never"]) {
    it(`of several files, a new one too, is one review and one undo (saving: ${save})`, async () => {
      const one = new File("one\n");
      const two = new File("two\n");
      const three = new File(null);
      const calls = [edit(one, "one", "1"), edit(two, "two", "2")].flatMap(({ tool_calls }) => tool_calls ?? []);
      const created = call("write_file", { path: three.name, content: "new\n" }).tool_calls ?? [];
      const talking = await start([{ tool_calls: [...calls, ...created] }, done], { save });
      const asked = talking.ask();
      await talking.review();
      await accept();
      await asked;
      assert.equal(talking.of("edit.proposed").length, 1);
      assert.deepEqual([await one.text(), await two.text(), three.disk], ["1\n", "2\n", "new\n"]);
      await one.show();
      await vscode.commands.executeCommand("undo");
      await until("the new file to go", () => !existsSync(three.path));
      assert.deepEqual([await one.text(), await two.text()], ["one\n", "two\n"]);
      for (const file of [one, two]) {
        await (await file.document()).save();
      }
    });
  }

  it("of a file that is read-only in the editor is refused with that reason, and its other files stay", async () => {
    const [locked, other, fresh] = [new File("one\n"), new File("two\r\n"), new File(null)];
    await locked.show();
    await vscode.commands.executeCommand("workbench.action.files.setActiveEditorReadonlyInSession");
    const calls = [edit(locked, "one", "1"), edit(other, "two", "2")].flatMap(({ tool_calls }) => tool_calls ?? []);
    const created = call("write_file", { path: fresh.name, content: "new\n" }).tool_calls ?? [];
    const talking = await start([{ tool_calls: [...calls, ...created] }, done], { save: "on_accept" });
    const asked = talking.ask();
    await talking.review();
    await accept();
    await asked;
    const [resolved] = talking.of("edit.resolved");
    assert.equal(resolved?.outcome, "failed");
    assert.equal(resolved.reason, `read-only in the editor: ${locked.name}`);
    assert.deepEqual([await locked.text(), await other.text()], ["one\n", "two\r\n"]);
    assert.deepEqual([locked.disk, other.disk, existsSync(fresh.path)], ["one\n", "two\r\n", false]);
    await (await other.document()).save();
  });

  it("that was decided cannot be decided again", async () => {
    const file = new File("one\n");
    const talking = await start([edit(file, "one", "1"), done]);
    const asked = talking.ask();
    await talking.review();
    await Promise.all([reject(), accept()]);
    await asked;
    assert.equal(await file.text(), "one\n");
  });

  it("is withdrawn when the turn is stopped", async () => {
    const file = new File("one\n");
    const talking = await start([edit(file, "one", "1"), done]);
    const asked = talking.ask();
    await talking.review();
    await vscode.commands.executeCommand("llamagent.ui.stop");
    assert.equal((await asked).stopReason, "cancelled");
    await until("the review to go", () => reviewTabs().length === 0);
    await accept();
    assert.equal(await file.text(), "one\n");
    assert.deepEqual(talking.parts.reviews.pending(), []);
  });

  it("accepts the rest of a turn when told so, and asks again in the next", async () => {
    const file = new File("one\ntwo\n");
    const talking = await start([edit(file, "one", "1"), edit(file, "two", "2"), done, edit(file, "2", "II"), done]);
    const first = talking.ask();
    await talking.review();
    await vscode.commands.executeCommand("llamagent.ui.acceptTurn");
    await first;
    assert.equal(await file.text(), "1\n2\n");
    const second = talking.ask();
    await talking.review();
    assert.equal(await file.text(), "1\n2\n");
    await reject();
    await second;
    assert.equal(await file.text(), "1\n2\n");
  });

  it("keeps line ends, the byte order mark and emoji", async () => {
    const file = new File("\ufeffα 😀\r\nb\r\nc\r\n");
    const talking = await start([edit(file, "b", "β 🎉\nzwei"), done]);
    const asked = talking.ask();
    await talking.review();
    await accept();
    await asked;
    assert.ok(await (await file.document()).save());
    assert.equal(file.bytes.toString("utf8"), "\ufeffα 😀\r\nβ 🎉\r\nzwei\r\nc\r\n");
  });

  it("keeps every byte of a latin-1 file", async () => {
    const before = Buffer.from("caf\u00e9\none\n", "latin1");
    const file = new File(before);
    await file.show();
    const talking = await start([edit(file, "one", "1"), done]);
    await talking.ask();
    assert.deepEqual(file.bytes, before);
    assert.equal((await file.document()).isDirty, false);
    assert.match(talking.of("tool.returned")[0]?.content ?? "", /utf|encod|lose bytes/i);
  });

  it("keeps every byte of a latin-1 file that is open with its encoding", async () => {
    const file = new File(Buffer.from("caf\u00e9\none\n", "latin1"));
    const document = await vscode.workspace.openTextDocument(file.uri, { encoding: "iso88591" });
    await vscode.window.showTextDocument(document);
    const talking = await start([edit(file, "one", "th\u00e9"), done], { save: "on_accept" });
    const asked = talking.ask();
    await talking.review();
    await accept();
    await asked;
    assert.deepEqual(file.bytes, Buffer.from("caf\u00e9\nth\u00e9\n", "latin1"));
  });

  for (const yes of [true, false]) {
    it(`of an untitled buffer changes it ${yes ? "after a yes" : "not after a no"}`, async () => {
      const document = await vscode.workspace.openTextDocument({ content: "one\n", language: "python" });
      await vscode.window.showTextDocument(document, { preview: false });
      const uri = document.uri.toString();
      const talking = await start([call("edit_file", { path: uri, old_text: "one", new_text: "1" }), done]);
      const asked = talking.ask();
      await talking.review();
      assert.equal(document.getText(), "one\n");
      await (yes ? accept() : reject());
      await asked;
      assert.equal(document.getText(), yes ? "1\n" : "one\n");
      assert.deepEqual(
        talking.of("edit.resolved").map(({ outcome }) => outcome),
        [yes ? "accepted" : "rejected"],
      );
      await vscode.window.showTextDocument(document);
      await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
    });
  }

  it("of a big file works", async () => {
    const row = `${"x".repeat(79)}\n`;
    const file = new File(`first\n${row.repeat(75_000)}`);
    const talking = await start([edit(file, "first", "FIRST"), done]);
    const asked = talking.ask();
    await until("the review or a refusal", () => reviewTabs().length > 0 || talking.of("tool.returned").length > 0);
    await accept();
    await asked;
    const resolved = talking.of("edit.resolved")[0];
    const text = await file.text();
    assert.equal(text.startsWith(resolved?.outcome === "accepted" ? "FIRST\n" : "first\n"), true);
    assert.equal(text.length, 6 + row.length * 75_000);
  });
});

describe("saving", () => {
  for (const [save, dirty] of [
    ["on_accept", false],
    ["never", true],
  ] as const) {
    it(`follows the setting: ${save}`, async () => {
      const file = new File("one\n");
      const talking = await Conversation.start([edit(file, "one", "1"), done], { save });
      try {
        const asked = talking.ask();
        await talking.review();
        await accept();
        await asked;
        assert.equal((await file.document()).isDirty, dirty);
        assert.equal(file.disk, dirty ? "one\n" : "1\n");
      } finally {
        await (await file.document()).save();
        await talking.stop();
      }
    });
  }

  it("before a command: the command sees what was accepted", async () => {
    const file = new File("one\n");
    const talking = await Conversation.start([
      edit(file, "one", "1"),
      call("run_command", { command: `python -c "print(open('${file.name}').read())"` }),
      done,
    ]);
    try {
      const asked = talking.ask();
      await talking.review();
      await accept();
      await until("the question", () => talking.parts.consents.pending().length > 0);
      talking.parts.consents.decide({ decision: "run" });
      await asked;
      assert.match(talking.of("tool.returned")[1]?.content ?? "", /^1$/m);
    } finally {
      await talking.stop();
    }
  });
});
