/** What the panel's page takes for many events, in a real Chromium: `node test-out/panelbench.js TIMES` prints JSON. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Browser, CDPSession, Page } from "playwright-core";

import type { PanelState, ToPage } from "../src/panel/messages";
import type { EventKind, EventTable, TraceEvent } from "../src/wire";
import { EXTENSION } from "./harness/places";
import { startBrowser } from "./harness/server";

const MANY = 1000;
const BATCH_MS = 33; // as the extension sends them
const RATE = 1000; // events a second
const STREAM_SECONDS = 3;

const STATE: PanelState = {
  daemon: "running",
  running: true,
  model: "qwen3.5:4b",
  gauge: { tokens: 4000, numCtx: 8192, estimated: true, parts: [{ name: "messages", tokens: 4000 }] },
  queue: [],
  reviews: [],
  consents: [],
  acceptsTurn: false,
  chips: [],
  remark: null,
  aside: [],
  can: { retry: true, undo: true },
};

/** A quarter of a second in which frames come and nothing is to be done. */
const STILL = `new Promise((resolve) => {
  let left = 15;
  const frame = () => (left-- > 0 ? requestAnimationFrame(frame) : resolve());
  frame();
})`;

/** A conversation as real ones are: turns with a text in pieces, a file that is read, an edit, an answer. */
function conversation(length: number): TraceEvent[] {
  const events: TraceEvent[] = [];
  const add = <K extends EventKind>(turn: string, actor: TraceEvent["actor"], kind: K, body: EventTable[K]): void => {
    const envelope = { session: "s", turn, seq: events.length, step: 1, time: "2026-01-01T00:00:00Z", actor };
    events.push({ ...envelope, kind, ...body } as unknown as TraceEvent);
  };
  for (let turn = 0; events.length < length; turn += 1) {
    const id = `t${String(turn)}`;
    add(id, "user", "turn.started", { text: `Question ${String(turn)}`, model: "qwen3.5:4b", files: ["app.py"] });
    call(add, id, "read", "read_file", "line of the file\n".repeat(60));
    call(add, id, "edit", "edit_file", "Edited app.py (+2 -2). The user accepted it.");
    for (let piece = 0; piece < 12; piece += 1) {
      add(id, "model", "model.delta", { channel: "content", text: "some words " });
    }
    add(id, "model", "model.replied", reply("Done: **two** lines.\n\n```python\nx = 1\n```\n\n- one\n- two\n"));
    const end = { stopReason: "answered", answer: "Done.", steps: 3, usage: {}, seconds: 2 } as const;
    add(id, "harness", "turn.ended", end);
  }
  return events.slice(0, length);
}

type Add = <K extends EventKind>(turn: string, actor: TraceEvent["actor"], kind: K, body: EventTable[K]) => void;

function call(add: Add, turn: string, name: string, tool: string, content: string): void {
  const id = `${turn}-${name}`;
  add(turn, "harness", "model.requested", { requestId: id, model: "m", promptTokensEstimate: 900, attempt: 1 });
  const toolCalls = [{ id, name: tool, arguments: { path: "app.py", old_text: "a\nb\n", new_text: "c\nd\n" } }];
  add(turn, "model", "model.replied", { ...reply(""), toolCalls });
  add(turn, "harness", "harness.decided", { call: id, decision: "allow", reason: "it only reads" });
  add(turn, "tool", "tool.started", { call: id, name: tool });
  if (name === "edit") {
    const review = { call: id, calls: [id], reviewId: id };
    const diff = "--- a/app.py\n+++ b/app.py\n@@ -1,4 +1,4 @@\n x\n-a\n-b\n+c\n+d\n y\n";
    add(turn, "harness", "edit.proposed", {
      ...review,
      files: [{ uri: "file:///w/app.py", added: 2, removed: 2 }],
      diff,
    });
    add(turn, "editor", "edit.resolved", { ...review, outcome: "accepted" });
  }
  add(turn, "tool", "tool.returned", { call: id, name: tool, ok: true, content, truncated: false, seconds: 0.1 });
}

function reply(content: string): EventTable["model.replied"] {
  const latency = { firstTokenSeconds: 0.2, totalSeconds: 1 };
  return { requestId: "r", model: "m", content, toolCalls: [], usage: {}, latency, finishReason: "stop" };
}

/** The page as the extension makes it, with VS Code's side of it played. */
async function open(browser: Browser): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 400, height: 900 } });
  const media = (name: string): string => readFileSync(join(EXTENSION, "media", name), "utf8");
  const html = `<!DOCTYPE html><html lang="en"><head><style>${media("panel.css")}</style></head>
    <body data-words="{}"><div id="app"></div>
    <script>window.acquireVsCodeApi = () => ({ postMessage() {}, getState() {}, setState() {} });</script>
    <script src="panel.js"></script></body></html>`;
  await page.route("http://panel.test/**", (route) =>
    route.request().url().endsWith(".js")
      ? route.fulfill({ contentType: "text/javascript", body: media("panel.js") })
      : route.fulfill({ contentType: "text/html", body: html }),
  );
  await page.goto("http://panel.test/");
  await page.evaluate(`window.painted = (message) => new Promise((resolve) => {
    const begun = performance.now();
    window.addEventListener("message", () => requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port2.onmessage = () => resolve(performance.now() - begun); // behind the frame that shows it
      port1.postMessage(null);
    }), { once: true });
    window.postMessage(message, "*");
  })`);
  return page;
}

/** What the page's thread worked in all, in milliseconds of its own time: other programs do not count in it. */
async function worked(devtools: CDPSession): Promise<number> {
  const { metrics } = await devtools.send("Performance.getMetrics");
  return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0) * 1000;
}

function painted(page: Page, message: ToPage): Promise<number> {
  return page.evaluate(`window.painted(${JSON.stringify(message)})`);
}

async function firstPaint(page: Page): Promise<number> {
  const found = `new Promise((resolve) => {
    const look = () => {
      const entry = performance.getEntriesByName("first-contentful-paint")[0];
      entry ? resolve(entry.startTime) : requestAnimationFrame(look);
    };
    look();
  })`;
  return page.evaluate(found);
}

/** The longest time between two frames while events stream in as the extension sends them. */
async function longestFrame(page: Page, events: readonly TraceEvent[]): Promise<number> {
  const script = `async ({ events, size, every }) => {
    let longest = 0, last = performance.now(), on = true;
    const frame = (now) => { longest = Math.max(longest, now - last); last = now; on && requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
    for (let at = 0; at < events.length; at += size) {
      window.postMessage({ type: "events", events: events.slice(at, at + size) }, "*");
      await new Promise((resolve) => setTimeout(resolve, every));
    }
    on = false;
    return longest;
  }`;
  const given = { events, size: Math.round((RATE * BATCH_MS) / 1000), every: BATCH_MS };
  return page.evaluate(`(${script})(${JSON.stringify(given)})`);
}

async function main(times: number): Promise<void> {
  const browser = await startBrowser();
  const events = conversation(MANY);
  const figures: Record<string, number[]> = { first: [], atOnce: [], work: [], again: [], longest: [], rate: [] };
  try {
    for (let count = -1; count < times; count += 1) {
      const page = await open(browser);
      const first = await firstPaint(page);
      await painted(page, { type: "state", state: STATE });
      await page.evaluate(STILL); // the loading of the page is measured above
      const devtools = await page.context().newCDPSession(page);
      await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
      const before = await worked(devtools);
      const atOnce = await painted(page, { type: "events", events });
      const work = (await worked(devtools)) - before;
      const again = await painted(page, { type: "reset", events });
      const rows = await page.locator(".row, .card").count();
      if (rows < MANY / 5) {
        throw new Error(`only ${String(rows)} rows are there`);
      }
      await painted(page, { type: "reset", events: [] });
      const longest = await longestFrame(page, conversation(RATE * STREAM_SECONDS));
      if (count >= 0) {
        const all = { first, atOnce, work, again, longest, rate: (MANY / atOnce) * 1000 };
        Object.entries(all).forEach(([name, value]) => figures[name]?.push(value));
      }
      await page.close();
    }
  } finally {
    await browser.close();
  }
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

main(Number(process.argv[2] ?? "5")).catch((problem: unknown) => {
  console.error(problem);
  process.exit(1);
});
