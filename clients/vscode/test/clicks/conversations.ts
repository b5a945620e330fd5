/** The stored conversations: gone on with, deleted, exported. */

import * as assert from "node:assert/strict";

import { until } from "../harness/waiting";
import type { Window } from "../harness/window";
import { scene } from "./shared";

interface Scrolled {
  scrollTop: number;
  scrollHeight: number;
  clientHeight: number;
}

const LINES = "A line of the answer.\n\n".repeat(20);

function inSight(element: { getBoundingClientRect(): { top: number; bottom: number } }): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= (globalThis as unknown as { innerHeight: number }).innerHeight;
}

async function openList(at: Window, title: string): Promise<void> {
  await at.command("Llamagent: Conversations…");
  await at.quickInput.fill(title);
  await at.quickRow(title).waitFor();
}

describe("the list of conversations", () => {
  it("goes on with the one that is chosen, and the model knows it", async () => {
    const at = await scene({ replies: [{ content: "The plum is ripe." }, { content: "It still is." }] });
    await at.ask("How is the plum?");
    await at.shows("The plum is ripe.");
    await at.button("Ask again").waitFor();
    await at.newConversation();
    await openList(at, "How is the plum?");
    await at.page.keyboard.press("Enter");
    await at.shows("The plum is ripe.");
    await at.ask("And now?");
    await at.shows("It still is.");
    await at.shows("The plum is ripe.");
  });

  it("goes on with one that has a turn asked again, and that stays set aside", async () => {
    const at = await scene({ replies: [{ content: "A green plum." }, { content: "A blue plum." }] });
    await at.ask("Which colour has the plum?");
    await at.shows("A green plum.");
    await at.button("Ask again").click();
    await at.shows("A blue plum.");
    await at.button("Copy the answer").nth(1).waitFor();
    await at.newConversation();
    await openList(at, "Which colour has the plum?");
    await at.page.keyboard.press("Enter");
    await at.shows("A blue plum.");
    await at.shows("set aside");
    assert.equal(await at.panel.locator(".trace").getByText("A green plum.").isVisible(), false);
    assert.equal(await at.button("Ask again").count(), 1);
  });

  it("shows a long one from its end, and its beginning to whoever goes up to it", async () => {
    const names = ["long1.py", "long2.py", "long3.py", "long4.py", "long5.py"];
    const read = { tool_calls: names.map((path) => ({ name: "read_file", arguments: { path } })) };
    const turns = Array.from({ length: 12 }, (_, index) => index + 1);
    const replies = turns.flatMap((turn) => [read, { content: `**Answer ${String(turn)}**\n\n${LINES}` }]);
    const at = await scene({ files: Object.fromEntries(names.map((name) => [name, "x = 1\n"])), replies });
    for (const turn of turns) {
      await at.ask(`Long question ${String(turn)}`);
      await at
        .button("Ask again")
        .nth(turn - 1)
        .waitFor({ state: "attached" });
    }
    await at.newConversation();
    await openList(at, "Long question 1");
    await at.page.keyboard.press("Enter");
    const trace = at.panel.locator(".trace");
    const end = trace.getByText("Answer 12", { exact: true });
    await end.waitFor();
    const fromTheEnd = (): Promise<number> =>
      trace.evaluate(({ scrollHeight, scrollTop, clientHeight }: Scrolled) => scrollHeight - scrollTop - clientHeight);
    await until("the end in sight", async () => (await fromTheEnd()) <= 1);
    const first = trace.locator("strong").getByText("Answer 1", { exact: true });
    assert.equal(await first.count(), 0, "Markdown that is far out of sight waits");
    await trace.evaluate((element: Scrolled) => {
      element.scrollTop = 0;
    });
    await first.waitFor();
    await until("the beginning still in sight", async () => (await fromTheEnd()) > 100);
    assert.equal(await trace.evaluate(({ scrollTop }: Scrolled) => scrollTop), 0);
    await at.button("↓ To the end").click();
    await until("the end in sight", async () => (await fromTheEnd()) <= 1);
    await at.page.keyboard.press("Tab"); // the flow has the focus: what comes next in it is out of sight
    await until("the focus in sight", () => at.panel.locator(":focus").evaluate(inSight));
  });

  it("ends what runs, and what waits, in the one that is left", async () => {
    const talk = { content: "one two three four", hold_after: 3 };
    const at = await scene({ replies: [talk, { content: "Of the new one." }] });
    await at.ask("The one to be left.");
    await at.shows("one two three");
    await at.ask("What waits behind it.");
    const waits = at.panel.getByRole("list", { name: "Waiting asks" }).getByText("What waits behind it.");
    await waits.waitFor();
    await openList(at, "The one to be left.");
    await at.page.keyboard.press("Enter"); // it is on the screen: it goes on
    await at.quickInput.waitFor({ state: "hidden" });
    await at.button("Stop").waitFor();
    await waits.waitFor();
    await at.newConversation();
    await at.button("Send").waitFor();
    await at.ask("The next one.");
    await at.shows("Of the new one.");
    await at.button("Ask again").waitFor();
    const said = await at.panel.locator(".row:not(.harness) .what").allInnerTexts();
    assert.deepEqual(said, ["The next one.", "Of the new one."]);
    await openList(at, "The one to be left.");
    await at.page.keyboard.press("Enter");
    await at.shows("cancelled");
    assert.equal(await at.panel.locator(".trace").getByText("What waits behind it.").count(), 0);
  });

  it("deletes one only after a yes", async () => {
    const at = await scene({ replies: [{ content: "Gone soon." }] });
    await at.ask("Shall this stay?");
    await at.shows("answered");
    await at.newConversation();
    await openList(at, "Shall this stay?");
    await at.pressOnRow("Shall this stay?", "Delete");
    await at.dialog.getByRole("button", { name: "Cancel" }).click();
    await openList(at, "Shall this stay?");
    await at.pressOnRow("Shall this stay?", "Delete");
    assert.match(await at.dialog.innerText(), /Delete the conversation “Shall this stay\?”/);
    await at.dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await at.command("Llamagent: Conversations…");
    await at.quickInput.fill("Shall this stay?");
    await until("the list without it", async () => (await at.quickRow("Shall this stay?").count()) === 0);
    await at.page.keyboard.press("Escape");
  });

  it("exports one as Markdown, into a text of its own", async () => {
    const at = await scene({ replies: [{ content: "Keep *this*." }] });
    await at.ask("What is worth keeping?");
    await at.shows("answered");
    await openList(at, "What is worth keeping?");
    await at.pressOnRow("What is worth keeping?", "Export as Markdown");
    await until("the exported text", async () => (await at.editorText()).includes("Keep *this*."));
    assert.ok((await at.editorText()).includes("What is worth keeping?"));
    await at.command("View: Revert and Close Editor");
  });
});
