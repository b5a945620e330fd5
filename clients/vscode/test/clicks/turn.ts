/** How a turn is ended, by the person and by what breaks. */

import * as assert from "node:assert/strict";

import { daemonsOf } from "../harness/server";
import { until } from "../harness/waiting";
import { CODE, done, edit, scene, stage } from "./shared";

describe("a turn", () => {
  it("stops in mid-stream", async () => {
    const at = await scene({ replies: [{ content: "one two three four five", hold_after: 3 }] });
    await at.ask("Talk.");
    await at.shows("one two three");
    await at.button("Stop").click();
    await at.shows("cancelled");
    await at.button("Send").waitFor();
  });

  it("says where no model server listens and what to do, and works as soon as one does", async () => {
    const at = await scene({ replies: [{ content: "Here I am." }] });
    await stage.forward.deaf();
    try {
      await at.ask("Anyone?");
      await at.shows(new URL(stage.forward.url).host);
      await at.shows("Start it with `ollama serve`");
    } finally {
      await stage.forward.listen();
    }
    await at.ask("Anyone now?");
    await at.shows("Here I am.");
  });

  it("tells that the daemon was killed in mid-stream, and works again once it is started", async () => {
    const at = await scene({ replies: [{ content: "one two three four", hold_after: 3 }] });
    await at.ask("Talk.");
    await at.shows("one two three");
    await at.ask("What waits behind it.");
    await at.panel.getByRole("list", { name: "Waiting asks" }).getByText("What waits behind it.").waitFor();
    daemonsOf(at.place.server).forEach((id) => process.kill(id, "SIGKILL"));
    await at.panel.getByText("The daemon does not run.").waitFor();
    await at.shows("The daemon ended before the turn did.");
    await until("what waited in the prompt", async () => (await at.prompt.inputValue()) === "What waits behind it.");
    assert.equal(await at.button("Stop").isVisible(), false);
    await at.play([{ content: "Awake again." }]);
    await at.button("Start it").click();
    await at.panel.getByText("The daemon does not run.").waitFor({ state: "detached" });
    await at.ask("Are you there?");
    await at.shows("Awake again.");
  });

  it("is done again, and what it was is put aside", async () => {
    const at = await scene({
      replies: ["First", "Second", "Third", "Fourth"].map((which) => ({ content: `${which} try.` })),
    });
    await at.ask("Try.");
    await at.shows("First try.");
    await at.button("Ask again").click();
    await at.shows("Second try.");
    await at.panel.locator(".trace").getByText("First try.").waitFor({ state: "hidden" });
    await at.shows("set aside");
    await at.ask("/retry With other words.");
    await at.shows("Third try.");
    await at.panel.locator(".trace").getByText("Second try.").waitFor({ state: "hidden" });
    await at.ask("/retry With words\nin two lines.");
    await at.shows("Fourth try.");
    await at.panel.locator(".trace").getByText("Third try.").waitFor({ state: "hidden" });
    assert.equal(await at.panel.locator(".row.user").last().innerText(), "you\nWith words\nin two lines.");
  });

  it("is done again with other words", async () => {
    const at = await scene({ replies: [{ content: "Mumble." }, { content: "Clear words." }] });
    await at.ask("Tpyo.");
    await at.shows("Mumble.");
    await at.button("Change and ask again").click();
    await until("its words in the prompt", async () => (await at.prompt.inputValue()) === "Tpyo.");
    await at.ask("Typo.");
    await at.shows("Clear words.");
    await at.panel.locator(".trace").getByText("Mumble.").waitFor({ state: "hidden" });
  });

  it("gives its edits back after another review", async () => {
    const at = await scene({ files: { "back.py": CODE }, replies: [edit("back.py", "total = 0", "total = 1"), done] });
    await at.ask("Count from one.");
    await at.button("Accept").click();
    await at.shows("All done.");
    assert.ok(at.read("back.py").includes("total = 1"));
    await at.button("Undo its edits").click();
    await at.button("Accept").click();
    await at.shows("The turn's edits are undone.");
    await until("the file as it was", () => at.read("back.py") === CODE);
  });

  it("leaves nothing behind when the window is reloaded with a review open", async () => {
    const at = await scene({ files: { "reload.py": CODE }, replies: [edit("reload.py", "total = 0", "x"), done] });
    await at.ask("Break it.");
    await at.reviewTab.waitFor();
    await at.load();
    await at.prompt.waitFor();
    await until("no tab of a review", async () => (await at.reviewTab.count()) === 0);
    assert.equal(at.read("reload.py"), CODE);
    await at.command("Llamagent: Conversations…");
    await at.quickInput.fill("Break it.");
    await at.quickRow("Break it.").click();
    await at.panel.locator(".card.failed .status").getByText("not applied").waitFor();
    assert.equal(await at.button("Accept").count(), 0);
  });

  it("that ends with its daemon gives back what waited behind it", async () => {
    const content = Array.from({ length: 4000 }, (_, index) => `word${String(index)}`).join(" ");
    const at = await scene({ replies: [{ content, delay: 0.02 }] });
    await at.ask("Talk much.");
    await at.shows("word10 ");
    await at.ask("And then this long question.");
    await at.panel.getByRole("list", { name: "Waiting asks" }).getByText("And then this long question.").waitFor();
    const streamed = at.panel.locator(".streaming");
    const before = (await streamed.innerText()).length;
    await until("more of the reply", async () => (await streamed.innerText()).length > before + 50);
    daemonsOf(at.place.server).forEach((id) => process.kill(id, "SIGKILL"));
    await until("the question in the prompt", async () => {
      return (await at.prompt.inputValue()) === "And then this long question.";
    });
    await at.button("Start it").click();
    await at.panel.getByText("The daemon does not run.").waitFor({ state: "detached" });
  });
});
