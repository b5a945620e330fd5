/** What the daemon asks of documents: their problems once these are known, and saving. */

import * as assert from "node:assert/strict";

import * as vscode from "vscode";

import { call } from "../harness/fakes";
import { Conversation, extensionParts, File } from "./agent";

describe("problems in a file", () => {
  let found: vscode.DiagnosticCollection;
  let server: vscode.Disposable | undefined;

  beforeEach(() => {
    found = vscode.languages.createDiagnosticCollection("a language server");
  });

  afterEach(async () => {
    server?.dispose();
    server = undefined;
    found.dispose();
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  });

  const problem = (message: string): vscode.Diagnostic[] => [
    new vscode.Diagnostic(new vscode.Range(0, 0, 0, 1), message, vscode.DiagnosticSeverity.Error),
  ];

  /** A language server that looks at each text of the file, and needs some time for it. */
  function looks(file: File, milliseconds: number): void {
    const looking = new Set<NodeJS.Timeout>();
    const changes = vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (document.uri.toString() === file.uri.toString()) {
        const text = document.getText();
        looking.add(setTimeout(() => found.set(file.uri, problem(`bad ${text.trim()}`)), milliseconds));
      }
    });
    server = vscode.Disposable.from(changes, { dispose: () => looking.forEach(clearTimeout) });
  }

  for (const milliseconds of [0, 300]) {
    it(`after an edit are those of the new text, from a language server that needs ${String(milliseconds)} ms`, async () => {
      const file = new File("one\n");
      await file.show();
      found.set(file.uri, problem("bad one"));
      looks(file, milliseconds);
      const edit = call("edit_file", { path: file.name, old_text: "one", new_text: "1" });
      const talk = await Conversation.start([edit, { content: "Done." }]);
      try {
        const asked = talk.ask();
        await talk.review();
        await vscode.commands.executeCommand("llamagent.ui.accept");
        await asked;
        const told = talk.of("tool.returned")[0]?.content ?? "";
        assert.match(told, /reports 1 problem[^]*bad 1/);
        assert.ok(!told.includes("bad one"), told);
      } finally {
        await talk.stop();
      }
    });
  }

  it("are told as they are where no language server says anything", async () => {
    const file = new File("one\n");
    await file.show();
    const { problems } = await extensionParts();
    const uri = file.uri.toString();
    assert.deepEqual(await problems.tell({ uris: [uri] }), { diagnostics: { [uri]: [] } });
  });
});
