/** The palette: each command of the daemon is there, and does what its title says. */

import * as assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";

import * as vscode from "vscode";

import { call } from "../harness/fakes";
import { until } from "../harness/waiting";
import { Conversation, File, Person, reviewTabs } from "./agent";

const done = { content: "Done." };
const run = (name: string): Thenable<unknown> => vscode.commands.executeCommand(`llamagent.ui.${name}`);

describe("the palette", () => {
  let person: Person;
  let talk: Conversation | undefined;

  const start = async (...args: Parameters<typeof Conversation.start>): Promise<Conversation> => {
    talk = await Conversation.start(...args);
    return talk;
  };
  const inForce = async (key: string): Promise<unknown> => {
    const { settings } = (await talk?.parts.daemon.call("config", {})) ?? { settings: [] };
    return settings.find((setting) => setting.key === key)?.value;
  };

  beforeEach(() => {
    person = new Person();
  });

  afterEach(async () => {
    person.leave();
    await talk?.stop();
    talk = undefined;
  });

  for (const [name, key, value] of [
    ["setTemperature", "temperature", 0.7],
    ["setNumCtx", "num_ctx", 4096],
  ] as const) {
    it(`${name} changes it for the session, and says so`, async () => {
      await start([]);
      const before = await inForce(key);
      person.types.push(String(value));
      await run(name);
      const { text } = await person.hears(new RegExp(`${key} is now ${String(value)}`));
      assert.ok(text.includes(String(before)), text);
      assert.equal(await inForce(key), value);
      await talk?.parts.daemon.restart(); // it was for the session
    });
  }

  it("allow lets commands run unasked, and takes it back", async () => {
    const { parts } = await start([]);
    person.picks.push(/Allow commands/);
    person.types.push("git status");
    await run("allow");
    assert.deepEqual((await parts.daemon.call("allow", {})).allowed, ["git status"]);
    person.picks.push(/^git status$/);
    await run("allow");
    assert.deepEqual((await parts.daemon.call("allow", {})).allowed, []);
  });

  it("retry does the last turn again, with other words where they are given", async () => {
    const talking = await start([{ content: "One." }, { content: "Two." }, { content: "Three." }]);
    await talking.ask("First words.");
    person.types.push("First words.");
    await run("retry");
    person.types.push("Other words.");
    await run("retry");
    const answers = talking.of("turn.ended").map(({ answer }) => answer);
    assert.deepEqual(answers, ["One.", "Two.", "Three."]);
    const asked = talking.of("turn.started").map(({ text }) => text);
    assert.deepEqual(asked, ["First words.", "First words.", "Other words."]);
  });

  it("retry does the last turn that the model had, though a command was typed after it", async () => {
    const talking = await start([{ content: "One." }, { content: "Two." }]);
    await talking.ask("First words.");
    await talking.ask("/config");
    person.types.push("First words.");
    await run("retry");
    const asked = talking.of("turn.started").map(({ text }) => text);
    assert.deepEqual(asked, ["First words.", "/config", "First words."]);
    assert.equal(talking.of("turn.ended").at(-1)?.answer, "Two.");
    assert.equal(talking.parts.conversation.remark, null);
  });

  it("retry asks first whether the turn's edits are to be taken back", async () => {
    const file = new File("one\n");
    const edit = call("edit_file", { path: file.name, old_text: "one", new_text: "1" });
    const talking = await start([edit, done, { content: "Again." }]);
    const asked = talking.ask("Edit.");
    await talking.review();
    await run("accept");
    await asked;
    person.types.push("Edit.");
    person.picks.push(/Undo its edits/);
    const again = run("retry");
    await talking.review();
    await run("accept");
    await again;
    assert.deepEqual(person.offered, [["Undo its edits first", "Keep its edits"]]);
    assert.equal(await file.text(), "one\n");
    assert.equal(talking.of("turn.ended").at(-1)?.answer, "Again.");
  });

  it("undoing a turn that made a file removes it, after a yes", async () => {
    const file = new File(null);
    const talking = await start([call("write_file", { path: file.name, content: "new\n" }), done], {
      save: "on_accept",
    });
    const asked = talking.ask();
    await talking.review();
    await run("accept");
    await asked;
    assert.equal(file.disk, "new\n");
    const undone = run("undoTurn");
    await talking.review();
    assert.ok(existsSync(file.path));
    await run("accept");
    await undone;
    await until("the file to go", () => !existsSync(file.path));
    assert.match(talking.parts.conversation.remark?.text ?? "", /edits are undone/);
  });

  it("undoing a turn that made a file leaves it there after a no", async () => {
    const file = new File(null);
    const talking = await start([call("write_file", { path: file.name, content: "new\n" }), done]);
    const asked = talking.ask();
    await talking.review();
    await run("accept");
    await asked;
    const undone = run("undoTurn");
    await talking.review();
    await run("reject");
    await undone;
    assert.equal(file.disk, "new\n");
    assert.match(talking.parts.conversation.remark?.text ?? "", /Nothing was undone/);
  });

  it("export opens the conversation as an untitled Markdown document", async () => {
    const talking = await start([{ content: "The **answer**." }]);
    await talking.ask("The question?");
    await run("export");
    const { document } = vscode.window.activeTextEditor ?? assert.fail("no editor is open");
    assert.deepEqual([document.uri.scheme, document.languageId], ["untitled", "markdown"]);
    assert.match(document.getText(), /The question\?[^]*The \*\*answer\*\*\./);
    await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  });

  it("init makes the project's files after a yes, and says which", async () => {
    const talking = await start([]);
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
    const began = run("init");
    await talking.review();
    assert.ok(!existsSync(join(folder, "AGENTS.md")));
    await run("accept");
    await began;
    const { text } = await person.hears(/^Made: /);
    assert.match(text, /AGENTS\.md/);
    assert.ok(existsSync(join(folder, "AGENTS.md")));
    assert.deepEqual(reviewTabs(), []);
    rmSync(join(folder, "AGENTS.md"));
  });

  it("init that is refused makes nothing, and says so", async () => {
    const talking = await start([]);
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
    const began = run("init");
    await talking.review();
    await run("reject");
    await began;
    await person.hears(/^Nothing was made\./); // what was there before is named behind it
    assert.ok(!existsSync(join(folder, "AGENTS.md")));
  });

  it("context says what fills it", async () => {
    const talking = await start([done]);
    await talking.ask();
    await run("context");
    const [rows] = person.offered;
    const { parts } = await talking.parts.daemon.call("context", {});
    assert.deepEqual(
      rows,
      parts.map(({ name }) => name),
    );
  });

  it("pulling a model asks for its name, and fetches nothing before a yes", async () => {
    await start([]);
    person.types.push("no-such-model");
    person.presses.push("Not now");
    await run("pullModel");
    const [question] = person.told;
    assert.match(question?.text ?? "", /no-such-model/);
    assert.deepEqual(question?.buttons, ["Download", "Not now"]);
  });

  it("help offers what the daemon lists, and does what is chosen", async () => {
    const talking = await start([]);
    person.picks.push(/Set the temperature/);
    person.types.push("0.9");
    await run("help");
    await person.hears(/temperature is now 0\.9/);
    const [rows] = person.offered;
    const { commands } = await talking.parts.daemon.call("help", {});
    const elsewhere = ["Trust", "Trace", "Complete", "Take back"];
    assert.deepEqual(
      rows,
      commands.map(({ title }) => title).filter((title) => !elsewhere.includes(title)),
    );
    await talking.parts.daemon.restart();
  });

  it("asking about a place takes the words from an input box", async () => {
    const file = new File("one\n");
    const talking = await start([{ content: "It is one." }]);
    await file.show();
    person.types.push("What is this?");
    const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 3 } };
    await vscode.commands.executeCommand("llamagent.ask_about", { context: [{ uri: file.uri.toString(), range }] });
    await until("the answer", () => talking.of("turn.ended").length > 0);
    assert.match(talking.of("turn.started")[0]?.text ?? "", /What is this\?/);
  });

  it("asking about a place without words asks nothing", async () => {
    const talking = await start([{ content: "It is one." }]);
    await vscode.commands.executeCommand("llamagent.ask_about", { context: [] });
    assert.deepEqual(talking.of("turn.started"), []);
  });

  it("a command of the daemon that fails is told, not thrown at the person as a dialog", async () => {
    await start([]);
    await vscode.commands.executeCommand("llamagent.set_temperature", { value: 9 });
    await person.hears(/temperature/);
  });
});
