/** Takes the pictures of the README and of the three themes: `node test-out/shots.js FOLDER [WIDTH]`. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { call } from "./harness/fakes";
import { Stage } from "./harness/stage";

const THEMES = { dark: "Dark Modern", light: "Light Modern", contrast: "Default High Contrast" };
const APP = `def invoice(items):
    total = 0
    for i in items:
        total += i
    return total


def discount(total):
    return total
`;
const REPLIES = [
  { ...call("read_file", { path: "app.py" }), thinking: "First I look at the file." },
  {
    tool_calls: [
      {
        name: "edit_file",
        arguments: {
          path: "app.py",
          old_text: "    total = 0\n    for i in items:\n        total += i\n    return total\n",
          new_text: "    return sum(items)\n",
        },
      },
    ],
  },
  call("run_command", { command: "python -m pytest -q" }),
  {
    content:
      "Done: `invoice` uses **sum** now.\n\n```python\ndef invoice(items):\n    return sum(items)\n```\n\n- shorter\n- faster",
  },
];

async function main(folder: string, width: number, only?: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const stage = await Stage.start();
  for (const [name, theme] of Object.entries(THEMES)) {
    if (only !== undefined && only !== name) {
      continue;
    }
    const settings = { "workbench.colorTheme": theme };
    const window = await stage.open({
      files: { "app.py": APP },
      replies: REPLIES,
      settings,
      width,
    });
    const shot = (what: string): Promise<unknown> =>
      window.page.screenshot({ path: join(folder, `${what}-${name}-${String(width)}.png`) });
    try {
      await window.openPanel();
      await window.ask("Make invoice shorter, then run the tests.");
      await window.panel.getByRole("button", { name: "Accept", exact: true }).waitFor();
      await window.reviewTab.waitFor();
      await window.page.locator(".multiDiffEntry").first().waitFor();
      await window.page.waitForTimeout(1500); // the diff's colours come after its text
      await shot("review");
      await window.panel.getByRole("button", { name: "Accept", exact: true }).click();
      await window.panel.getByRole("button", { name: "Run", exact: true }).waitFor();
      await shot("consent");
      await window.panel.getByRole("button", { name: "Refuse", exact: true }).click();
      await window.panel.getByText("shorter", { exact: true }).waitFor();
      await shot("panel");
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
