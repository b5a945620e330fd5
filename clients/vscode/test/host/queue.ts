/** Several proposals at once, and texts that change under them: each is answered once, and shown for the live text. */

import * as assert from "node:assert/strict";
import { existsSync } from "node:fs";

import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams } from "vscode-languageclient/node";

import type { Parts } from "../../src/parts";
import type { Answer } from "../../src/review/reviews";
import { until } from "../harness/waiting";
import { extensionParts, File, reviewTabs } from "./agent";

interface Line {
  file: File;
  line: number;
  text: string;
  version?: number | null;
}

/** The answers to two proposals, and the second one's id. */
interface Behind {
  first: Promise<Answer>;
  second: Promise<Answer>;
  id: string;
}

let named = 0;

/** A proposal of the daemon's kind: each row replaces the whole line `line`. */
function proposal(...rows: Line[]): ApplyWorkspaceEditParams {
  const annotation = `llamagent:queue-${String(named++)}`;
  return {
    label: rows.map(({ file }) => file.name).join(", "),
    edit: {
      documentChanges: rows.map(({ file, line, text, version = null }) => ({
        textDocument: { uri: file.uri.toString(), version },
        edits: [
          {
            range: { start: { line, character: 0 }, end: { line, character: 1 } },
            newText: text,
            annotationId: annotation,
          },
        ],
      })),
      changeAnnotations: { [annotation]: { label: "", needsConfirmation: true } },
    },
  };
}

const idOf = ({ edit }: ApplyWorkspaceEditParams): string =>
  (Object.keys(edit.changeAnnotations ?? {})[0] ?? "").replace("llamagent:", "");

function inserted(file: File, line: number, text: string): Thenable<boolean> {
  const edit = new vscode.WorkspaceEdit();
  edit.insert(file.uri, new vscode.Position(line, 0), text);
  return vscode.workspace.applyEdit(edit);
}

async function type(file: File, line: number, text: string): Promise<void> {
  assert.ok(await inserted(file, line, text));
}

describe("proposals in a queue", () => {
  let parts: Parts;
  const token = new vscode.CancellationTokenSource();
  const receive = (params: ApplyWorkspaceEditParams): Promise<Answer> => parts.reviews.receive(params, token.token);
  const waits = (count: number): Promise<void> =>
    until(`${String(count)} reviews`, () => parts.reviews.pending().length === count);
  const shows = (file: File): Promise<void> =>
    until("the review's tab", () => reviewTabs().some(({ label }) => label.includes(file.name)));
  const shown = (file: File): string =>
    vscode.workspace.textDocuments
      .find(({ uri }) => uri.scheme === "llamagent-proposed" && uri.path.endsWith(file.name))
      ?.getText() ?? "nothing";

  /** The first one is on the screen, the other one waits behind it. */
  const behind = async (first: Line, other: Line): Promise<Behind> => {
    const answer = receive(proposal(first));
    await shows(first.file);
    const params = proposal(other);
    const answers = { first: answer, second: receive(params), id: idOf(params) };
    await waits(2);
    return answers;
  };

  beforeEach(async () => {
    parts = await extensionParts();
  });

  afterEach(async () => {
    parts.reviews.rejectAll("the test is over");
    await until("the tabs to go", () => reviewTabs().length === 0);
    await vscode.commands.executeCommand("workbench.action.files.revert");
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  });

  it("one is shown at a time, the next one on the text that the first one left", async () => {
    const file = new File("a\nb\nc\nd\ne\n");
    const { first, second } = await behind({ file, line: 0, text: "A" }, { file, line: 4, text: "E" });
    assert.equal(reviewTabs().length, 1);
    await parts.reviews.accept();
    assert.deepEqual(await first, { applied: true });
    await until("the second one's text", () => shown(file) === "A\nb\nc\nd\nE\n");
    await parts.reviews.accept();
    assert.deepEqual(await second, { applied: true });
    assert.equal(await file.text(), "A\nb\nc\nd\nE\n");
  });

  it("one waits on when the tab of the one before it for the same file goes, by a yes or by the person", async () => {
    const file = new File("a\nb\nc\nd\ne\n");
    const rows = ["A", "C", "E"].map((text, index) => ({ file, line: index * 2, text }));
    const [first, second, third] = rows.map((row) => receive(proposal(row)));
    await shows(file);
    await waits(3);
    await new File("beside\n").show(); // the tabs change while two wait
    await parts.reviews.accept();
    assert.deepEqual(await first, { applied: true });
    await until("the second one's text", () => shown(file) === "A\nb\nC\nd\ne\n");
    await until("the second one's tab", () => reviewTabs().length === 1);
    await vscode.window.tabGroups.close(reviewTabs());
    assert.deepEqual(await second, { applied: false, failureReason: "the person closed the review" });
    await until("the third one's text", () => shown(file) === "A\nb\nc\nd\nE\n");
    await parts.reviews.accept();
    assert.deepEqual(await third, { applied: true });
    assert.equal(await file.text(), "A\nb\nc\nd\nE\n");
  });

  it("one that was not shown yet can be accepted, and is answered", async () => {
    const one = new File("a\n");
    const two = new File("b\n");
    const { first, second, id } = await behind({ file: one, line: 0, text: "A" }, { file: two, line: 0, text: "B" });
    await parts.reviews.accept(id);
    assert.deepEqual(await second, { applied: true });
    assert.equal(await two.text(), "B\n");
    await parts.reviews.reject();
    assert.deepEqual(await first, { applied: false });
    assert.equal(await one.text(), "a\n");
  });

  it("one that was not shown yet is refused with the reason where it cannot be made any more", async () => {
    const one = new File("a\n");
    const two = new File("b\n");
    const { first, second, id } = await behind({ file: one, line: 0, text: "A" }, { file: two, line: 0, text: "B" });
    await type(two, 0, "typed ");
    await parts.reviews.accept(id);
    const { applied, failureReason } = await second;
    assert.equal(applied, false);
    assert.match(failureReason ?? "", /stale/);
    assert.equal(await two.text(), "typed b\n");
    await parts.reviews.reject();
    await first;
  });

  it("one whose lines were changed while it waited is refused without being shown", async () => {
    const file = new File("a\nb\n");
    const { first, second } = await behind({ file, line: 0, text: "A" }, { file, line: 0, text: "Ä" });
    await parts.reviews.accept();
    await first;
    assert.match((await second).failureReason ?? "", /stale/);
    assert.equal(await file.text(), "A\nb\n");
  });

  it("one that only says what is there by now is refused with that reason", async () => {
    const file = new File("a\nb\n");
    const { first, second } = await behind({ file, line: 0, text: "A" }, { file, line: 0, text: "A" });
    await parts.reviews.accept();
    await first;
    assert.match((await second).failureReason ?? "", /already/);
  });

  it("one is refused, and not two answered, however often it is decided", async () => {
    const file = new File("a\n");
    const params = proposal({ file, line: 0, text: "A" });
    const answer = receive(params);
    await shows(file);
    const id = idOf(params);
    const { reviews } = parts;
    await Promise.all([
      reviews.reject("no", id),
      reviews.accept(id),
      reviews.acceptTurn(id),
      reviews.rejectAndStop(id),
    ]);
    assert.deepEqual(await answer, { applied: false, failureReason: "no" });
    assert.equal(await file.text(), "a\n");
  });

  it("one whose file was removed meanwhile is answered with the reason", async () => {
    const one = new File("a\n");
    const two = new File("b\n");
    const { first, second } = await behind({ file: one, line: 0, text: "A" }, { file: two, line: 0, text: "B" });
    await vscode.workspace.fs.delete(two.uri);
    await until("the file to go", () => !existsSync(two.path));
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    await first; // its tab was closed
    const { applied, failureReason } = await second;
    assert.equal(applied, false);
    assert.match(failureReason ?? "", /not there any more/);
    assert.ok(!existsSync(two.path));
  });

  for (const [name, at, expected] of [
    ["above", 0, "typed\na\nb\nC\n"],
    ["below", 3, "a\nb\nC\ntyped\n"],
  ] as const) {
    it(`an edit for the text before a keystroke ${name} is shown where its line is by now`, async () => {
      const file = new File("a\nb\nc\n");
      await file.show();
      const { version } = await file.document();
      await type(file, at, "typed\n");
      const answer = receive(proposal({ file, line: 2, text: "C", version }));
      await until("the review's text", () => shown(file) === expected);
      await parts.reviews.accept();
      assert.deepEqual(await answer, { applied: true });
      assert.equal(await file.text(), expected);
    });
  }

  it("an edit for the text before a keystroke in the same line is refused as stale", async () => {
    const file = new File("a\nb\nc\n");
    await file.show();
    const { version } = await file.document();
    await type(file, 2, "typed ");
    const { applied, failureReason } = await receive(proposal({ file, line: 2, text: "C", version }));
    assert.equal(applied, false);
    assert.match(failureReason ?? "", /stale/);
    assert.equal(await file.text(), "a\nb\ntyped c\n");
  });

  it("an edit that is accepted while the person types takes none of the letters, and is made", async () => {
    for (let round = 1; round <= 5; round += 1) {
      const file = new File("a\nb\nc\nd\ne\n");
      const others = Array.from({ length: 5 }, () => new File("z\n"));
      await file.show();
      const rows = [file, ...others].map((one) => ({ file: one, line: 0, text: "A" }));
      const answer = receive(proposal(...rows));
      await shows(file);
      const accepted = parts.reviews.accept();
      let typed = 0;
      for (let count = 1; count <= 20; count += 1) {
        typed += (await inserted(file, 4, "x")) ? 1 : 0;
      }
      await accepted;
      assert.deepEqual(await answer, { applied: true });
      assert.equal(await file.text(), `A\nb\nc\nd\n${"x".repeat(typed)}e\n`);
      assert.deepEqual(await Promise.all(others.map((one) => one.text())), Array(5).fill("A\n"));
    }
  });

  it("an edit of a file that was opened and typed in meanwhile is merged", async () => {
    const file = new File("a\nb\nc\n");
    await file.show();
    await type(file, 0, "typed\n");
    const answer = receive(proposal({ file, line: 2, text: "C" }));
    await until("the review's text", () => shown(file) === "typed\na\nb\nC\n");
    await parts.reviews.accept();
    assert.deepEqual(await answer, { applied: true });
  });
});
