/** What the panel's page shows, and what it keeps out. */

import * as assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { call } from "../harness/fakes";
import { EXTENSION } from "../harness/places";
import { until } from "../harness/waiting";
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
    assert.match((await at.reviewTab.getAttribute("aria-label")) ?? "", /⚠ the old text was found although/);
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

  it("puts the code of an answer into the file in front, or into a new one", async () => {
    const content = "Look:\n\n```python\nanswer = 42\n```\n";
    const at = await scene({ files: { "into.py": "" }, replies: [{ content }] });
    await at.ask("What is it?");
    await at.button("Ask again").waitFor();
    await at.openFile("into.py");
    await at.button("Insert").click();
    await until("the code in the file", async () => (await at.editorText()).includes("answer = 42"));
    await at.command("View: Revert and Close Editor");
    await at.button("Open as a file").click();
    await until("the code in a new file", async () => (await at.editorText()).includes("answer = 42"));
    assert.equal(at.read("into.py"), "");
    await at.command("View: Revert and Close Editor");
  });

  it("copies the code of an answer, and the answer as it was written", async () => {
    const content = "Look **here**:\n\n```python\nanswer = 42\n```";
    const at = await scene({ replies: [{ content }] });
    await at.ask("What is it?");
    await at.button("Copy the answer").waitFor();
    const pasted = async (): Promise<string> => {
      await at.prompt.fill("");
      await at.prompt.press("Control+V");
      return at.prompt.inputValue();
    };
    await at.button("Copy").click();
    await until("the code in the clipboard", async () => (await pasted()) === "answer = 42\n");
    await at.button("Copy the answer").click();
    await until("the answer in the clipboard", async () => (await pasted()) === content);
    await at.prompt.fill("");
  });

  it("says how full the context is, in numbers that grow with the conversation", async () => {
    const at = await scene({
      files: { "gauge.py": CODE.repeat(20) },
      replies: [call("read_file", { path: "gauge.py" }), done],
    });
    const gauge = at.panel.getByRole("meter", { name: "Context" });
    const tokens = async (): Promise<number> => Number(await gauge.getAttribute("aria-valuenow"));
    await at.ask("Read it.");
    await at.shows("All done.");
    await at.button("Ask again").waitFor();
    const full = await tokens();
    assert.equal(await gauge.getAttribute("aria-valuemax"), "8192");
    assert.ok(full > 500, `the prompt and the file: ${String(full)}`);
    const numbers = (await gauge.locator(".numbers").innerText()).replace(/[,≈ ]/g, "");
    assert.equal(numbers, `${String(full)}/8192`);
    assert.match((await gauge.getAttribute("title")) ?? "", /of 8,192 tokens\n(.+: [\d,]+\n?)+$/);
    const width = await gauge.locator(".fill").getAttribute("style");
    assert.equal(width, `width: ${String(Math.round((full / 8192) * 100))}%;`);
  });

  it("has no serious fault that axe finds, and all the colours that its style names, in each theme", async () => {
    const settings = { "llamagent.think": true, "editor.accessibilitySupport": "on" };
    const at = await stage.open({ settings });
    try {
      for (const [theme, kind] of Object.entries(THEMES)) {
        at.write({ ".vscode/settings.json": JSON.stringify({ ...settings, "workbench.colorTheme": theme }) });
        await at.begin({});
        await at.panel.locator(`body.${kind}`).waitFor();
        assert.deepEqual(await unknownColours(at, kind), [], theme);
        await everything(at, theme);
      }
    } finally {
      await at.close();
    }
  });
});

/** With the class that VS Code gives to the page. */
const THEMES = {
  "Light Modern": "vscode-light",
  "Dark Modern": "vscode-dark",
  "Default High Contrast": "vscode-high-contrast",
};

interface Styled {
  style: { setProperty(name: string, value: string): void };
  computedStyleMap(): Map<string, unknown>;
}

/** What the style names, and the theme has neither it nor anything to take its place: such a line counts for nothing. */
async function unknownColours(at: Window, kind: string): Promise<string[]> {
  const rules = readFileSync(join(EXTENSION, "media", "panel.css"), "utf8").split("}");
  const ours = rules.filter((rule) => kind === "vscode-high-contrast" || !rule.includes(".vscode-high-contrast"));
  const named = ours.join("}").match(/var\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g) ?? [];
  assert.ok(named.length > 50, "the style names colours");
  return at.panel.locator("body").evaluate(
    (body, values) => {
      const element = body as unknown as Styled;
      return values.filter((value) => {
        element.style.setProperty("--probe", value);
        return (element.computedStyleMap().get("--probe") ?? null) === null;
      });
    },
    [...new Set(named)],
  );
}

/** Looks at the panel with a proposal, a consent, an answer, the list of completions, and an error. */
async function everything(at: Window, theme: string): Promise<void> {
  const sound = async (what: string): Promise<void> => assert.deepEqual(await faults(at), [], `${what}, ${theme}`);
  const name = `${theme.replace(/ /g, "-")}.py`;
  await at.begin({
    files: { [name]: CODE },
    replies: [
      { ...edit(name, "total = 0\nfor i in items:", "total = 1\nfor i in items:"), thinking: "Hm." },
      call("run_command", { command: "ls" }),
      { content: "Look:\n\n```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n" },
    ],
  });
  await sound("empty");
  await at.ask("Show everything.");
  await at.button("Accept").waitFor();
  await sound("a proposal");
  await at.button("Accept").click();
  await at.button("Run").waitFor();
  await sound("a consent");
  await at.button("Refuse").click();
  await at.shows("answered");
  const laidOut = at.panel
    .locator(".turn")
    .evaluate((turn) => String((turn as unknown as Styled).computedStyleMap().get("content-visibility")));
  assert.equal(await laidOut, "visible", "screen readers pass over all else");
  await at.panel.locator("details.thoughts").waitFor();
  assert.equal(await at.panel.locator("details.thoughts").getAttribute("open"), null);
  await at.panel.locator("details").evaluateAll((all: unknown[]) => {
    all.forEach((one) => Object.assign(one as object, { open: true }));
  });
  await at.prompt.pressSequentially("@");
  await at.panel.getByRole("option").first().waitFor();
  await sound("an answer, all unfolded, and the list");
  await at.prompt.fill("");
  await stage.forward.deaf();
  try {
    await at.ask("Anyone?");
    await at.shows("ollama serve");
    await sound("an error");
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
