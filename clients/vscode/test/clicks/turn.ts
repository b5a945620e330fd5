/** How a turn is ended, by the person and by what breaks. */

import * as assert from "node:assert/strict";

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

  it("says in the panel that no model server listens", async () => {
    const at = await scene({});
    await stage.forward.deaf();
    try {
      await at.ask("Anyone?");
      await at.shows(new URL(stage.forward.url).host);
    } finally {
      await stage.forward.listen();
    }
  });

  it("leaves nothing behind when the window is reloaded with a review open", async () => {
    const at = await scene({ files: { "reload.py": CODE }, replies: [edit("reload.py", "total = 0", "x"), done] });
    await at.ask("Break it.");
    await at.reviewTab.waitFor();
    await at.load();
    await at.prompt.waitFor();
    assert.equal(await at.reviewTab.count(), 0);
    assert.equal(at.read("reload.py"), CODE);
  });
});
