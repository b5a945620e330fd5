/** Takes the pictures of the README and of the three themes: `node test-out/shots.js FOLDER [WIDTH [THEME]]`. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import type { Locator } from "playwright-core";

import { call, type Reply } from "./harness/fakes";
import { Stage } from "./harness/stage";
import type { Window } from "./harness/window";

const THEMES = { dark: "Dark Modern", light: "Light Modern", contrast: "Default High Contrast" };
const APP = `def invoice(items):
    total = 0
    for i in items:
        total += i
    return total


def discount(total):
    return total
`;
const LONG = Array.from({ length: 40 }, (_, i) => `RATE_${String(i)} = ${String(i)} / 100`).join("\n") + "\n";
const REPLIES: Reply[] = [
  { ...call("read_file", { path: "billing/app.py" }), thinking: "First I look at the file." },
  call("search_text", { pattern: "invoice", path: "billing" }),
  {
    content: "`invoice` adds up by hand. I make it shorter, and leave out the rates that nobody uses.",
    tool_calls: [
      {
        name: "edit_file",
        arguments: {
          path: "billing/app.py",
          old_text: "total = 0\nfor i in items:\n    total += i\nreturn total\n",
          new_text: "return sum(items)\n",
        },
      },
      { name: "write_file", arguments: { path: "billing/rates.py", content: "RATE = 1 / 100\n" } },
    ],
  },
  call("run_command", { command: "python -m compileall -q billing" }),
  {
    content:
      "Done: `invoice` uses **sum** now.\n\n```python\ndef invoice(items):\n    return sum(items)\n```\n\n- shorter\n- faster",
  },
];

/** One theme: every picture in the order in which a person meets it. */
async function pictures(at: Window, shot: (what: string, only?: Locator) => Promise<unknown>): Promise<void> {
  const panel = at.page.locator(".part.auxiliarybar");
  await at.openPanel();
  await at.panel.getByText("Ask about this folder").waitFor();
  await at.command("Welcome: Open Walkthrough");
  await at.quickInput.fill("The first minute with llamagent");
  await at.quickRow("The first minute with llamagent").click();
  await at.page.locator(".getting-started-step .complete").first().waitFor();
  await at.page.waitForTimeout(1500); // its right side is a page of its own
  await shot("walkthrough");
  await at.page.locator(".tabs-container .tab.active .tab-actions a.action-label").click();
  await at.ask("Make invoice shorter, then check that it compiles.");
  await at.button("Accept").waitFor();
  await at.reviewTab.waitFor();
  await at.page.locator(".multiDiffEntry").first().waitFor();
  await at.page.waitForTimeout(1500); // the diff's colours come after its text
  await shot("review");
  await at.button("Accept").click();
  await at.button("Run").waitFor();
  await shot("consent");
  await shot("consent-panel", panel);
  await at.button("Run").click();
  await at.panel.getByText("shorter", { exact: true }).waitFor();
  await at.button("Ask again").waitFor();
  await shot("panel");
  await shot("panel-panel", panel);
  await at.prompt.pressSequentially("Now the same for @bil");
  await at.panel.getByRole("option").first().waitFor();
  await shot("completion");
  await at.prompt.fill("");
  await at.command("Llamagent: Conversations…");
  await at.quickRow("Make invoice shorter").waitFor();
  await shot("list");
  await at.page.keyboard.press("Escape");
  await at.place.forward.deaf();
  await at.ask("And the discount?");
  await at.shows("ollama serve");
  await at.button("Ask again").last().waitFor();
  await shot("error");
  await at.place.forward.listen();
}

async function main(folder: string, width: number, only?: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const stage = await Stage.start();
  for (const [name, theme] of Object.entries(THEMES)) {
    if (only !== undefined && only !== name) {
      continue;
    }
    const settings = { "workbench.colorTheme": theme, "llamagent.think": true };
    const files = { "billing/app.py": APP, "billing/rates.py": LONG };
    const window = await stage.open({ files, replies: REPLIES, settings, width });
    const shot = (what: string, only?: Locator): Promise<unknown> =>
      (only ?? window.page).screenshot({ path: join(folder, `${what}-${name}-${String(width)}.png`) });
    try {
      await pictures(window, shot);
    } catch (problem) {
      await shot("failed");
      throw problem;
    } finally {
      await window.close();
    }
  }
  await stage.stop();
}

const [, , folder = "shots", width = "1700", only] = process.argv;
main(folder, Number(width), only).catch((problem: unknown) => {
  console.error(problem);
  process.exit(1);
});
