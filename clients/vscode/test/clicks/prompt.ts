/** The prompt: what completes its words, and the model that it asks. */

import * as assert from "node:assert/strict";

import { until } from "../harness/waiting";
import { CODE, done, edit, scene } from "./shared";

describe("the prompt", () => {
  it("completes a file by the keyboard, and Enter takes the choice before it sends", async () => {
    const at = await scene({ files: { "ledger.py": CODE }, replies: [{ content: "I see it." }] });
    await at.prompt.fill("");
    await at.prompt.pressSequentially("Read @ledg");
    const option = at.panel.getByRole("option", { name: "@ledger.py" });
    await option.waitFor();
    assert.equal(await option.getAttribute("aria-selected"), "true");
    await at.prompt.press("Enter");
    assert.equal((await at.prompt.inputValue()).trim(), "Read @ledger.py");
    await option.waitFor({ state: "detached" });
    await at.prompt.press("Enter");
    await at.shows("with ledger.py");
    await at.shows("I see it.");
  });

  it("completes a command by the mouse, and sending it does what it says", async () => {
    const at = await scene({ replies: [{ content: "Forget me." }] });
    await at.ask("Say something.");
    await at.shows("Forget me.");
    await at.prompt.pressSequentially("/cle");
    await at.panel.getByRole("option", { name: "/clear" }).click();
    assert.equal((await at.prompt.inputValue()).trim(), "/clear");
    await at.prompt.press("Enter");
    await until("an empty conversation", async () => (await at.panel.locator(".row").count()) === 0);
  });

  it("leaves a typed command that has no view here to the daemon, which answers in words", async () => {
    const at = await scene({});
    const answers = at.panel.locator(".row.info");
    await at.ask("/temp 0.5");
    await answers.getByText("0.5").waitFor();
    assert.equal(await at.button("Ask again").count(), 0);
    await at.ask("/temp 0.2");
    await answers.getByText("0.2").first().waitFor();
  });

  it("puts the list away by Escape, and leaves what was typed", async () => {
    const at = await scene({ files: { "escape.py": CODE } });
    await at.prompt.pressSequentially("@escape");
    await at.panel.getByRole("option").first().waitFor();
    await at.prompt.press("Escape");
    await at.panel.getByRole("option").first().waitFor({ state: "detached" });
    assert.equal(await at.prompt.inputValue(), "@escape");
    await at.prompt.fill("");
  });

  it("shows no list whose answer comes after Escape", async () => {
    const at = await scene({ files: { "late.py": CODE } });
    await at.prompt.focus();
    await at.prompt.evaluate(`new Promise((answered) => {
      addEventListener("message", ({ data }) => { if (data.type === "completions") answered(); });
      const text = document.activeElement;
      text.value = "@late";
      text.dispatchEvent(new Event("input"));
      text.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
    })`);
    assert.equal(await at.panel.getByRole("option").count(), 0);
    await at.prompt.fill("");
  });

  it("replaces the whole word by the choice, also what was typed since the list came", async () => {
    const at = await scene({ files: { "typed_on.py": CODE } });
    await at.prompt.pressSequentially("@typed");
    await at.panel.getByRole("option", { name: "@typed_on.py" }).waitFor();
    await at.prompt.evaluate(`{
      const text = document.activeElement;
      text.setRangeText("_on", text.value.length, text.value.length, "end");
      text.dispatchEvent(new Event("input"));
      text.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", cancelable: true }));
    }`);
    assert.equal((await at.prompt.inputValue()).trim(), "@typed_on.py");
    await at.prompt.fill("");
  });

  it("asks the model that is chosen in the list", async () => {
    const models = ["qwen3.5:4b", "tiny:1b"];
    const at = await scene({ replies: [], models });
    const chosen = at.panel.getByRole("button", { name: /^Model: / });
    await chosen.click();
    await at.quickRow("tiny:1b").click();
    await at.panel.getByRole("button", { name: "Model: tiny:1b. Choose another" }).waitFor();
    await at.play([{ content: "I am small." }], ["tiny:1b"]); // another name would be refused
    await at.ask("Who are you?");
    await at.shows("I am small.");
    await at.play([], models);
    await chosen.click();
    await at.quickRow("qwen3.5:4b").click();
    await at.panel.getByRole("button", { name: "Model: qwen3.5:4b. Choose another" }).waitFor();
  });

  it("brings back by the arrows what was asked before", async () => {
    const at = await scene({ replies: [done, done] });
    for (const text of ["The older ask.", "The newer ask."]) {
      await at.ask(text);
      await at.button("Ask again").first().waitFor();
    }
    await at.prompt.press("ArrowUp");
    assert.equal(await at.prompt.inputValue(), "The newer ask.");
    await at.prompt.press("ArrowUp");
    assert.equal(await at.prompt.inputValue(), "The older ask.");
    await at.prompt.press("End");
    await at.prompt.press("ArrowDown");
    assert.equal(await at.prompt.inputValue(), "The newer ask.");
  });

  it("has the focus once the panel is opened by its command", async () => {
    const at = await scene({ files: { "before.py": CODE }, replies: [done] });
    await at.openFile("before.py");
    await at.page.locator(".editor-group-container.active .view-lines").click();
    await at.command("Llamagent: Open the Panel");
    await at.inPrompt();
    await at.page.keyboard.type("By the keyboard.");
    await at.page.keyboard.press("Enter");
    await at.panel.locator(".row.user").getByText("By the keyboard.").waitFor();
    await at.shows("All done.");
  });

  it("keeps the keys of whoever writes in it when a review opens", async () => {
    const proposal = { ...edit("mid.py", "total = 0", "total = 1"), content: "one two three", hold_after: 2 };
    const at = await scene({ files: { "mid.py": CODE }, replies: [proposal, done] });
    await at.ask("Count from one.");
    await at.shows("one two");
    await at.prompt.pressSequentially("Half a ");
    at.release();
    await at.titleIcon("Accept the Edit").waitFor();
    await at.page.locator(".multiDiffEntry .editor.modified .view-lines").getByText("total = 1").waitFor();
    await at.inPrompt();
    await at.page.keyboard.type("sentence");
    assert.equal(await at.prompt.inputValue(), "Half a sentence");
    await at.prompt.press("Control+Alt+Enter");
    await at.shows("All done.");
    assert.equal(at.read("mid.py"), CODE.replace("total = 0", "total = 1"));
    await at.prompt.fill("");
  });

  it("says to the running turn what cannot wait for its end, and shows it at once", async () => {
    const talk = { content: "one two three four", hold_after: 3 };
    const at = await scene({ replies: [talk, { content: "Silent I am." }] });
    await at.ask("Talk.");
    await at.shows("one two three");
    await at.prompt.fill("Rather be silent.");
    await at.button("Steer").click();
    await at.panel.locator(".row.user").getByText("Rather be silent.").waitFor();
    assert.equal(await at.prompt.inputValue(), "");
    assert.equal(await at.panel.locator(".turn").count(), 1);
    assert.equal(await at.panel.getByRole("list", { name: "Waiting asks" }).getByRole("listitem").count(), 0);
    at.release();
    await at.shows("Silent I am.");
    assert.equal(await at.panel.locator(".turn").count(), 1);
    const said = await at.panel.locator(".row:not(.harness) .what").allInnerTexts();
    assert.deepEqual(said, ["Talk.", "Rather be silent.", "one two three four", "Silent I am."]);
  });

  it("queues what is asked while a turn runs, and takes it back", async () => {
    const at = await scene({ replies: [{ content: "one two three four", hold_after: 3 }] });
    await at.ask("Talk.");
    await at.shows("one two three");
    await at.prompt.fill("And then this.");
    await at.button("Queue").click();
    await at.panel.getByRole("list", { name: "Waiting asks" }).getByText("And then this.").waitFor();
    await at.button("Remove And then this.").click();
    await at.panel.getByText("And then this.").waitFor({ state: "detached" });
    await at.button("Stop").click();
    await at.shows("cancelled");
  });
});
