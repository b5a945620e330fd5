/** What the panel's page shows, and what it keeps out. */

import * as assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { call } from "../harness/fakes";
import { EXTENSION } from "../harness/places";
import type { Window } from "../harness/window";
import { CODE, done, edit, scene, stage } from "./shared";

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
    assert.notEqual(await answer.evaluate("document.title"), "hacked");
    assert.equal((await at.page.title()).includes("hacked"), false);
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

  it("tells what one should know of a change, on its card and in the review's tab", async () => {
    const at = await scene({
      files: { "loose.py": CODE },
      replies: [
        edit("loose.py", "total = 0\nfor i in items:\n    total += i\nreturn total\n", "return sum(items)\n"),
        done,
      ],
    });
    await at.ask("Shorter.");
    await at.button("Accept").waitFor();
    assert.match(await at.panel.locator(".card .note").innerText(), /differed in indentation/);
    assert.match((await at.reviewTab.getAttribute("aria-label")) ?? "", /⚠ old_text was matched although/);
    await at.button("Accept").click();
    await at.shows("All done.");
    assert.equal(at.read("loose.py"), "def invoice(items):\n    return sum(items)\n");
  });

  it("shows who did what: the call folded, and in it model, harness and tool apart", async () => {
    const at = await scene({
      files: { "who.py": CODE },
      replies: [call("read_file", { path: "who.py", start_line: 1 }), done],
    });
    await at.ask("Read it.");
    await at.shows("All done.");
    const step = at.panel.locator("details.step");
    assert.equal(await step.getAttribute("open"), null);
    await step.locator("summary").click();
    await step.locator(".part.tool").waitFor();
    assert.deepEqual(await step.locator(".who").allInnerTexts(), ["model", "harness", "tool"]);
    assert.match(await step.locator(".part.tool").innerText(), /def invoice/);
  });

  for (const theme of ["Light Modern", "Dark Modern", "Default High Contrast"]) {
    it(`has no serious fault that axe finds, in ${theme}`, async () => {
      const at = await stage.open({ settings: { "workbench.colorTheme": theme } });
      try {
        await everything(at);
      } finally {
        await at.close();
      }
    });
  }
});

/** Looks at the panel with a proposal, a consent, an answer, the list of completions, and an error. */
async function everything(at: Window): Promise<void> {
  await at.begin({
    files: { "axe.py": CODE, "other.py": CODE },
    replies: [
      { ...edit("axe.py", "total = 0\nfor i in items:", "total = 1\nfor i in items:"), thinking: "Hm." },
      call("run_command", { command: "ls" }),
      { content: "Look:\n\n```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n" },
    ],
  });
  assert.deepEqual(await faults(at), [], "empty");
  await at.ask("Show everything.");
  await at.button("Accept").waitFor();
  assert.deepEqual(await faults(at), [], "a proposal");
  await at.button("Accept").click();
  await at.button("Run").waitFor();
  assert.deepEqual(await faults(at), [], "a consent");
  await at.button("Refuse").click();
  await at.shows("answered");
  await at.panel.locator("details").evaluateAll("(all) => all.forEach((one) => { one.open = true; })");
  await at.prompt.pressSequentially("@");
  await at.panel.getByRole("option").first().waitFor();
  assert.deepEqual(await faults(at), [], "an answer, all unfolded, and the list");
  await at.prompt.fill("");
  await stage.forward.deaf();
  try {
    await at.ask("Anyone?");
    await at.shows("ollama serve");
    assert.deepEqual(await faults(at), [], "an error");
  } finally {
    await stage.forward.listen();
  }
}

/** axe-core's serious and critical findings in the panel's page, one line each. */
async function faults(at: Window): Promise<string[]> {
  const source = readFileSync(createRequire(join(EXTENSION, "package.json")).resolve("axe-core/axe.min.js"), "utf8");
  // The page's own policy forbids scripts, so the tool comes in through the debugger.
  // What is behind a page without a background of its own, axe cannot see.
  return at.panel.locator("html").evaluate(`(async () => { ${source};
    document.body.style.background = "var(--vscode-sideBar-background)";
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations.filter(({ impact }) => ["serious", "critical"].includes(impact))
      .map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" | ")); })()`);
}
