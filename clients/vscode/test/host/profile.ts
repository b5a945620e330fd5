/** Not a test but a measure: what the review of a big file costs, and whom. `node test-out/hostrun.js profile`. */

import { Session } from "node:inspector/promises";

import * as vscode from "vscode";

import { call } from "../harness/fakes";
import { heaviest } from "../harness/heaviest";
import { until } from "../harness/waiting";
import { Conversation, File, reviewTabs } from "./agent";

const ROWS = 75_000; // of 80 characters: 6 MB

describe("a big file", () => {
  it("is profiled", async () => {
    const row = `${"x".repeat(79)}\n`;
    const file = new File(`first\n${row.repeat(ROWS)}`);
    await file.show();
    const edit = call("edit_file", { path: file.name, old_text: "first", new_text: "FIRST" });
    const talk = await Conversation.start([edit, { content: "Done." }]);
    const session = new Session();
    session.connect();
    try {
      await session.post("Profiler.enable");
      await session.post("Profiler.start");
      const marks: [string, number][] = [["asked", performance.now()]];
      const mark = (name: string): number => marks.push([name, performance.now()]);
      const asked = talk.ask();
      await until("the edit", () => talk.of("edit.proposed").length > 0);
      mark("proposed by the daemon");
      await until("the request", () => talk.parts.reviews.pending().length > 0);
      mark("read by the extension");
      await until("the tab", () => reviewTabs().length > 0);
      mark("the tab is there");
      await until("its document", () => talk.proposed().length > 0);
      mark("its document is there");
      await vscode.commands.executeCommand("llamagent.ui.accept");
      mark("accepted");
      await asked;
      mark("the turn has ended");
      const { profile } = await session.post("Profiler.stop");
      const lines = marks.map(
        ([name, at], index) => `${name}: +${String(Math.round(at - (marks[index - 1]?.[1] ?? at)))} ms`,
      );
      console.log([...lines, ...heaviest(profile)].join("\n"));
    } finally {
      session.disconnect();
      await talk.stop();
    }
  });
});
