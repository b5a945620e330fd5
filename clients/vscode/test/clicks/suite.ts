/** What a person does with mouse and keys, in the installed extension with the real daemon and a scripted model. */

import * as assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Browser } from "playwright-core";

import { call, type Reply } from "../harness/fakes";
import { checkTools, EXTENSION, VSIX } from "../harness/places";
import { install, startBrowser } from "../harness/server";
import { until } from "../harness/waiting";
import { type Options, Window } from "../harness/window";

const APP = "def invoice(items):\n    total = 0\n    for i in items:\n        total += i\n    return total\n";
const edit = (oldText: string, newText: string, path = "app.py"): Reply =>
  call("edit_file", { path, old_text: oldText, new_text: newText });
const done = { content: "All done." };

describe("the installed extension", () => {
  let browser: Browser;
  let extensions: string;
  let window: Window | undefined;

  before(async () => {
    checkTools();
    extensions = mkdtempSync(join(tmpdir(), "llamagent-installed-"));
    install(VSIX, extensions);
    browser = await startBrowser();
  });

  after(async () => {
    await browser.close();
  });

  afterEach(async function () {
    if (this.currentTest?.state === "failed" && window !== undefined) {
      const name = this.currentTest.title.replace(/\W+/g, "-");
      await window.page.screenshot({ path: join(EXTENSION, "test-out", `failed-${name}.png`) });
    }
    await window?.close();
    window = undefined;
  });

  const open = async (options: Options): Promise<Window> => {
    window = await Window.open(browser, extensions, { files: { "app.py": APP }, ...options });
    return window;
  };
  const app = (at: Window): string => readFileSync(join(at.workspace, "app.py"), "utf8");
  const text = (at: Window, words: string): Promise<void> => at.panel.getByText(words).first().waitFor();

  it("takes an ask to an accepted edit, by the card", async () => {
    const at = await open({
      replies: [edit("total = 0", "total = 0.0"), done],
      settings: { "llamagent.save": "on_accept" },
    });
    await at.openPanel();
    await at.ask("Use floats.");
    const accept = at.panel.getByRole("button", { name: "Accept", exact: true });
    await accept.waitFor();
    assert.equal(app(at), APP);
    await accept.click();
    await text(at, "All done.");
    assert.equal(app(at), APP.replace("total = 0", "total = 0.0"));
    await at.reviewTab.waitFor({ state: "detached" });
    assert.equal(await at.panel.getByRole("button", { name: "Accept", exact: true }).count(), 0);
  });

  it("accepts by the title's icon, and rejects by the other", async () => {
    const at = await open({
      replies: [edit("total = 0", "total = 1"), edit("total = 1", "total = 2"), done],
      settings: { "llamagent.save": "on_accept" },
    });
    await at.openPanel();
    await at.ask("Count.");
    await at.titleIcon("Accept the Edit").click();
    await until("the first edit on disk", () => app(at).includes("total = 1"));
    await at.titleIcon("Reject the Edit").first().click();
    await text(at, "All done.");
    assert.ok(app(at).includes("total = 1"));
  });

  it("lets the person give a reason, which the model gets", async () => {
    const at = await open({ replies: [edit("total = 0", "x"), done] });
    await at.openPanel();
    await at.ask("Break it.");
    await at.panel.getByRole("button", { name: "Reject with a reason…" }).click();
    const input = at.page.locator(".quick-input-widget input.input");
    await input.fill("that is no code");
    await input.press("Enter");
    await text(at, "rejected: that is no code");
    assert.equal(app(at), APP);
  });

  it("drops one hunk by VS Code's own arrow", async () => {
    const lines = Array.from({ length: 30 }, (_, i) => `line_${String(i)} = ${String(i)}`);
    const wanted = lines.map((line, i) => (i === 2 || i === 25 ? `${line}  # changed` : line));
    const at = await open({
      files: { "app.py": lines.join("\n") + "\n" },
      replies: [edit(lines.join("\n"), wanted.join("\n")), done],
      settings: { "llamagent.save": "on_accept" },
    });
    await at.openPanel();
    await at.ask("Note both.");
    const arrows = at.page.locator(".monaco-diff-editor .gutterItem .action-label.codicon-arrow-right");
    await until("both arrows", async () => (await arrows.count()) === 2);
    await arrows.last().click();
    await until("one arrow", async () => (await arrows.count()) === 1);
    await at.panel.getByRole("button", { name: "Accept", exact: true }).click();
    await text(at, "accepted with changes");
    await text(at, "All done.");
    assert.equal(app(at).match(/# changed/g)?.length, 1);
  });

  it("takes the closing of the tab for a no", async () => {
    const at = await open({ replies: [edit("total = 0", "x"), done] });
    await at.openPanel();
    await at.ask("Break it.");
    await at.reviewTab.waitFor();
    await at.page.locator(".tabs-container .tab.active .tab-actions a.action-label").click();
    await text(at, "All done.");
    assert.equal(app(at), APP);
  });

  it("runs a command only after the click on Run", async () => {
    const at = await open({ replies: [call("run_command", { command: "echo made > made.txt" }), done] });
    await at.openPanel();
    await at.ask("Make a file.");
    await text(at, "echo made > made.txt");
    await at.panel.getByRole("button", { name: "Run", exact: true }).click();
    await text(at, "All done.");
    assert.equal(readFileSync(join(at.workspace, "made.txt"), "utf8").trim(), "made");
  });

  it("stops in mid-stream", async () => {
    const at = await open({ replies: [{ content: "one two three four five", hold_after: 3 }] });
    await at.openPanel();
    await at.ask("Talk.");
    await text(at, "one two three");
    await at.panel.getByRole("button", { name: "Stop", exact: true }).click();
    await text(at, "cancelled");
    await at.panel.getByRole("button", { name: "Send", exact: true }).waitFor();
  });

  it("shows a hostile answer as text: no script, no image, no command link", async () => {
    const content = [
      "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">",
      "![pixel](https://example.invalid/pixel.png)",
      "[run](command:workbench.action.quit) [js](javascript:alert(1)) [web](https://example.invalid/page)",
      "The end.",
    ].join("\n\n");
    const at = await open({ replies: [{ content }] });
    const asked: string[] = [];
    at.page.on("request", (request) => asked.push(request.url()));
    await at.openPanel();
    await at.ask("Be hostile.");
    await text(at, "The end.");
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

  it("leaves nothing behind when the window is reloaded with a review open", async () => {
    const at = await open({ replies: [edit("total = 0", "x"), done] });
    await at.openPanel();
    await at.ask("Break it.");
    await at.reviewTab.waitFor();
    await at.load();
    await at.openPanel();
    assert.equal(await at.reviewTab.count(), 0);
    assert.equal(app(at), APP);
  });

  it("shows the same again after the panel was hidden, the draft included", async () => {
    const at = await open({ replies: [{ content: "Remember **me**." }] });
    await at.openPanel();
    await at.ask("Speak.");
    await text(at, "answered");
    await at.prompt.fill("a draft");
    await at.command("View: Toggle Secondary Side Bar Visibility");
    await at.prompt.waitFor({ state: "detached" });
    await at.openPanel();
    await text(at, "Remember me.");
    assert.equal(await at.prompt.inputValue(), "a draft");
  });

  it("tells in the panel where no model server listens", async () => {
    const at = await open({ settings: { "llamagent.url": "http://127.0.0.1:9" } });
    await at.openPanel();
    await at.ask("Anyone?");
    await text(at, "127.0.0.1:9");
  });

  it("has a panel in which axe finds no serious fault", async () => {
    const at = await open({
      replies: [
        { ...edit("total = 0", "total = 1"), thinking: "Hm." },
        call("run_command", { command: "ls" }),
        { content: "Look:\n\n```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n" },
      ],
    });
    await at.openPanel();
    await at.ask("Show everything.");
    await at.panel.getByRole("button", { name: "Accept", exact: true }).click();
    await at.panel.getByRole("button", { name: "Run", exact: true }).waitFor();
    assert.deepEqual(await faults(at), []);
    await at.panel.getByRole("button", { name: "Refuse", exact: true }).click();
    await text(at, "answered");
    assert.deepEqual(await faults(at), []);
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

  it("keeps the words of two windows apart", async () => {
    const at = await open({ replies: [{ content: "First window." }, { content: "Second window." }] });
    const other = await browser.newPage({ viewport: { width: 1700, height: 1000 } });
    await at.openPanel();
    await at.ask("Who?");
    await text(at, "First window.");
    const folder = mkdtempSync(join(tmpdir(), "llamagent-two-"));
    writeFileSync(join(folder, "b.py"), "b = 1\n");
    const second = at.beside(other, folder);
    await second.load();
    await second.openPanel();
    await second.ask("Who?");
    await text(second, "Second window.");
    assert.equal(await second.panel.getByText("First window.").count(), 0);
    assert.equal(await at.panel.getByText("Second window.").count(), 0);
    await other.close();
  });
});
