/** What the click tests begin with: one stage for all of them, and the replies that most of them need. */

import { call, type Reply } from "../harness/fakes";
import { Stage } from "../harness/stage";
import type { Scene, Window } from "../harness/window";

export const CODE = "def invoice(items):\n    total = 0\n    for i in items:\n        total += i\n    return total\n";
export const done: Reply = { content: "All done." };

export function edit(path: string, oldText: string, newText: string): Reply {
  return call("edit_file", { path, old_text: oldText, new_text: newText });
}

export let stage: Stage;

before(async () => {
  stage = await Stage.start();
});

after(() => stage.stop());

afterEach(async function () {
  if (this.currentTest?.state === "failed") {
    await stage.failed(this.currentTest.title);
  }
});

/** The shared window on a fresh conversation. Each test has file names of its own. */
export function scene(begin: Scene): Promise<Window> {
  return stage.scene(begin);
}
