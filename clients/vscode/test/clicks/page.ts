/** What the panel's page shows, and what it keeps out. */

import * as assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { call } from "../harness/fakes";
import { EXTENSION } from "../harness/places";
import type { Window } from "../harness/window";
import { CODE, edit, scene } from "./shared";

describe("the panel's page", () => {
  it("shows a hostile answer as text: no script, no image, no command link", async () => {
    const content = [
      "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">",
      "![pixel](https://example.invalid/pixel.png)",
      "[run](command:workbench.action.quit) [js](javascript:alert(1)) [web](https://example.invalid/page)",
      "The end.",
    ].join("\n\n");
    const at = await scene({ replies: [{ content }] });
    const asked: string[] = [];
    at.page.on("request", (request) => asked.push(request.url()));
    await at.ask("Be hostile.");
    await at.shows("The end.");
    await at.shows("answered");
    const answer = at.panel.locator(".markdown");
    assert.equal(await answer.locator("script, img, iframe, style").count(), 0);
    // A link is inert until it is clicked; only those to the web are left.
    assert.equal(
      await answer.locator("a[href]").count(),
      await answer.locator('a[href^="https://example.invalid/"]').count(),
    );
    assert.equal(await answer.locator('a[href="https://example.invalid/page"]').count(), 1);
    assert.deepEqual(
      asked.filter((url) => url.includes("example.invalid")),
      [],
    );
  });

  it("shows the same again after the panel was hidden, the draft included", async () => {
    const at = await scene({ replies: [{ content: "Remember **me**." }] });
    await at.ask("Speak.");
    await at.shows("answered");
    await at.prompt.fill("a draft");
    await at.command("View: Toggle Secondary Side Bar Visibility");
    await at.prompt.waitFor({ state: "detached" });
    await at.openPanel();
    await at.shows("Remember me.");
    assert.equal(await at.prompt.inputValue(), "a draft");
    await at.prompt.fill("");
  });

  it("has no serious fault that axe finds", async () => {
    const at = await scene({
      files: { "axe.py": CODE },
      replies: [
        { ...edit("axe.py", "total = 0", "total = 1"), thinking: "Hm." },
        call("run_command", { command: "ls" }),
        { content: "Look:\n\n```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n" },
      ],
    });
    await at.ask("Show everything.");
    await at.button("Accept").click();
    await at.button("Run").waitFor();
    assert.deepEqual(await faults(at), []);
    await at.button("Refuse").click();
    await at.shows("answered");
    assert.deepEqual(await faults(at), []);
  });
});

/** axe-core's serious and critical findings in the panel's page, one line each. */
async function faults(at: Window): Promise<string[]> {
  const source = readFileSync(createRequire(join(EXTENSION, "package.json")).resolve("axe-core/axe.min.js"), "utf8");
  // The page's own policy forbids scripts, so the tool comes in through the debugger.
  return at.panel.locator("html").evaluate(`(async () => { ${source};
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations.filter(({ impact }) => ["serious", "critical"].includes(impact))
      .map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" | ")); })()`);
}
