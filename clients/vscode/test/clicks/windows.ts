/** Two windows of one VS Code. */

import * as assert from "node:assert/strict";

import { scene } from "./shared";

describe("two windows", () => {
  it("keep their words apart", async () => {
    const at = await scene({ replies: [{ content: "First window." }, { content: "Second window." }] });
    await at.ask("Who?");
    await at.shows("First window.");
    const second = await at.beside({ "b.py": "b = 1\n" });
    try {
      await second.openPanel();
      await second.ask("Who?");
      await second.shows("Second window.");
      assert.equal(await second.panel.getByText("First window.").count(), 0);
      assert.equal(await at.panel.getByText("Second window.").count(), 0);
    } finally {
      await second.close();
    }
  });
});
