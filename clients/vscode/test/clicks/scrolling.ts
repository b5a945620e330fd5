/** Which part of a long conversation is in sight: the end for whoever is there, and what one looks at for all others. */

import * as assert from "node:assert/strict";

import type { Locator } from "playwright-core";

import { call } from "../harness/fakes";
import { until } from "../harness/waiting";
import type { Window } from "../harness/window";
import { CODE, done, edit, scene } from "./shared";

interface Scrolled {
  scrollTop: number;
  scrollHeight: number;
  clientHeight: number;
}

const lines = (count: number): string => Array.from({ length: count }, (_, i) => `Line ${String(i)}.\n\n`).join("");
const slow = (count: number): { content: string; delay: number } => ({ content: lines(count), delay: 0.02 });

const trace = (at: Window): Locator => at.panel.locator(".trace");
const top = (at: Window): Promise<number> => trace(at).evaluate(({ scrollTop }: Scrolled) => scrollTop);
const height = (at: Window): Promise<number> => trace(at).evaluate(({ scrollHeight }: Scrolled) => scrollHeight);
const left = (at: Window): Promise<number> =>
  trace(at).evaluate(({ scrollHeight, scrollTop, clientHeight }: Scrolled) => scrollHeight - scrollTop - clientHeight);
const overflows = (at: Window): Promise<void> =>
  until("more than fits", () =>
    trace(at).evaluate(({ scrollHeight, clientHeight }: Scrolled) => scrollHeight > clientHeight + 200),
  );
const atTheEnd = (at: Window): Promise<void> => until("the end in sight", async () => (await left(at)) <= 1);

/** As fingers on a trackpad do it: a few pixels at a time. */
async function goUp(at: Window, pixels: number): Promise<void> {
  await trace(at).hover();
  for (let gone = 0; gone < pixels; gone += 4) {
    await at.page.mouse.wheel(0, -4);
    await at.page.waitForTimeout(10);
  }
  await until("the end out of sight", async () => (await left(at)) > 1);
}

async function grows(at: Window, pixels: number): Promise<void> {
  const before = await height(at);
  await until("more text", async () => (await height(at)) > before + pixels);
}

describe("the flow of the conversation", () => {
  it("pulls nobody down who goes up while a reply streams, and leads back to the end by a click", async () => {
    const at = await scene({ replies: [slow(120)] });
    await at.ask("Much.");
    await overflows(at);
    await atTheEnd(at);
    assert.equal(await at.button("↓ To the end").isVisible(), false);
    await goUp(at, 60);
    const looksAt = await top(at);
    await grows(at, 200);
    assert.equal(await top(at), looksAt);
    await at.button("↓ To the end").click();
    await atTheEnd(at);
    await grows(at, 100);
    await at.button("Ask again").waitFor();
    await atTheEnd(at);
    assert.equal(await at.button("↓ To the end").isVisible(), false);
  });

  it("leaves where it is what is unfolded at the end while a reply streams", async () => {
    const files = { "unfold.py": "x = 1\n".repeat(60) };
    const at = await scene({
      files,
      replies: [{ content: lines(30) }, call("read_file", { path: "unfold.py" }), slow(80)],
    });
    await at.ask("Long.");
    await at.button("Ask again").waitFor();
    await at.ask("Read, and talk.");
    const summary = at.panel.locator("details.step summary");
    await summary.waitFor();
    await at.shows("Line 2.");
    await summary.click();
    await at.panel.locator(".part.tool").waitFor();
    const before = (await summary.boundingBox())?.y;
    await grows(at, 200);
    assert.equal((await summary.boundingBox())?.y, before);
    await at.button("Stop").click();
    await at.shows("cancelled");
  });

  it("says to whoever is up that something waits, and leads to it", async () => {
    const files = { "below.py": CODE };
    const proposal = { ...edit("below.py", "total = 0", "total = 1"), ...slow(40) };
    const at = await scene({ files, replies: [{ content: lines(40) }, proposal, done] });
    await at.ask("Long.");
    await at.button("Ask again").waitFor();
    await at.ask("Edit.");
    await at.shows("The model writes");
    await goUp(at, 300);
    const looksAt = await top(at);
    await at.button("↓ Waits for you").waitFor();
    assert.equal(await top(at), looksAt);
    await at.button("↓ Waits for you").click();
    await atTheEnd(at);
    await at.button("Accept").click();
    await at.shows("All done.");
    await atTheEnd(at);
  });

  it("keeps the end in sight in a smaller panel and over a longer prompt, and an ask brings it back", async () => {
    const at = await scene({ replies: [{ content: lines(40) }, { content: "Here below." }] });
    await at.ask("Long.");
    await at.button("Ask again").waitFor();
    await atTheEnd(at);
    await at.prompt.fill("a draft\n".repeat(9));
    await atTheEnd(at);
    await at.page.setViewportSize({ width: 1700, height: 800 });
    await atTheEnd(at);
    await at.page.setViewportSize({ width: 1700, height: 1000 });
    await atTheEnd(at);
    await goUp(at, 200);
    await at.ask("And now?");
    await at.shows("Here below.");
    await atTheEnd(at);
  });
});
