/** Asking from the text of an editor, by its context menu. */

import * as assert from "node:assert/strict";

import type { Window } from "../harness/window";
import { until } from "../harness/waiting";
import { CODE, done, edit, scene } from "./shared";

/** Select all of a file and choose an entry of llamagent's context menu. */
async function choose(at: Window, file: string, entry: string): Promise<void> {
  await at.openFile(file);
  const lines = at.page.locator(".editor-group-container.active .view-lines");
  await lines.click();
  await at.page.keyboard.press("Control+A");
  await lines.click({ button: "right", position: { x: 60, y: 30 } });
  await at.page.getByRole("menuitem", { name: "Llamagent" }).hover();
  const item = at.page.getByRole("menuitem", { name: entry });
  await item.hover();
  await at.page.keyboard.press("Enter"); // a menu that has just opened takes no click yet
  await item.waitFor({ state: "detached" });
}

/** Put the cursor into the text, and choose what the light bulb has. */
async function mend(at: Window, text: string, entry: string): Promise<void> {
  await at.page.locator(".editor-group-container.active .view-lines").getByText(text).first().click();
  const bulb = at.page.locator(".lightBulbWidget, .codicon[class*=lightbulb]").filter({ visible: true });
  await bulb.first().waitFor(); // in the text or in the margin
  await at.page.keyboard.press("Control+Period"); // a second time would choose
  await at.page.locator(".action-widget .monaco-list-row", { hasText: entry }).click();
}

describe("the light bulb", () => {
  it("fixes a problem that another extension found, by an edit to review", async () => {
    const wrong = '{ "a": 1, "b": }\n';
    const right = wrong.replace('"b": ', '"b": 2 ');
    const at = await scene({ files: { "bulb.json": wrong }, replies: [edit("bulb.json", wrong, right), done] });
    await at.openFile("bulb.json");
    await at.page.locator(".editor-group-container.active .squiggly-error").waitFor();
    await mend(at, "}", "Fix with llamagent");
    await at.shows("with bulb.json");
    await at.button("Accept").click();
    await at.shows("All done.");
    assert.equal(at.read("bulb.json"), right);
  });

  it("does what a comment asks", async () => {
    const asking = `# llamagent: use sum\n${CODE}`;
    const at = await scene({ files: { "comment.py": asking }, replies: [{ content: "It would be shorter." }] });
    await at.openFile("comment.py");
    await mend(at, "use sum", "Ask llamagent: use sum");
    await at.panel.locator(".row.user").getByText("use sum").waitFor();
    await at.shows("with comment.py");
    await at.shows("It would be shorter.");
  });
});

describe("the context menu of a selection", () => {
  it("explains it at once", async () => {
    const at = await scene({ files: { "explain.py": CODE }, replies: [{ content: "It adds up." }] });
    await choose(at, "explain.py", "Explain the Selection");
    await at.shows("with explain.py");
    await at.shows("It adds up.");
    await at.panel.locator(".row.user").getByText("Explain what this does. Change nothing.").waitFor();
  });

  it("fixes it by an edit to review", async () => {
    const at = await scene({ files: { "fix.py": CODE }, replies: [edit("fix.py", "total = 0", "total = 0.0"), done] });
    await choose(at, "fix.py", "Fix the Selection");
    await at.button("Accept").click();
    await at.shows("All done.");
    assert.equal(at.read("fix.py"), CODE.replace("total = 0", "total = 0.0"));
  });

  it("keeps words and selection where the ask cannot begin", async () => {
    const talk = { content: "one two three four", hold_after: 3 };
    const at = await scene({ files: { "kept.py": CODE }, replies: [talk] });
    await at.ask("Talk.");
    await at.shows("one two three");
    await choose(at, "kept.py", "Ask about the Selection");
    const chip = at.panel.getByRole("list", { name: "Attached" }).getByRole("listitem");
    await chip.getByText("kept.py").waitFor();
    const much = "much ".repeat(9000);
    await at.prompt.fill(much);
    await at.button("Steer").click();
    await at.shows("Your message is too long");
    await until("the words in the prompt", async () => (await at.prompt.inputValue()) === much.trim());
    await chip.getByText("kept.py").waitFor();
    await at.button("Remove kept.py:1-6").click();
    await chip.waitFor({ state: "detached" });
    await at.prompt.fill("");
    await at.button("Stop").click();
    await at.shows("cancelled");
  });

  it("takes it into the prompt for words of one's own", async () => {
    const at = await scene({ files: { "about.py": CODE }, replies: [{ content: "Because." }] });
    await choose(at, "about.py", "Ask about the Selection");
    const chip = at.panel.getByRole("list", { name: "Attached" }).getByRole("listitem");
    await chip.getByText("about.py").waitFor();
    await until("the focus in the prompt", () => at.prompt.evaluate("document.activeElement?.tagName === 'TEXTAREA'"));
    await at.page.keyboard.type("Why so?");
    await at.page.keyboard.press("Enter");
    await at.shows("with about.py");
    await at.shows("Because.");
    assert.equal(await chip.count(), 0);
  });
});
