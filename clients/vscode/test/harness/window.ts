/** One VS Code window in the browser, by its selectors (VS Code 1.139). */

import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import type { BrowserContext, FrameLocator, Locator, Page } from "playwright-core";

import { type Model, type Reply, startModel } from "./fakes";
import type { Forward } from "./forward";
import { type CodeServer, daemonsOf } from "./server";
import { until } from "./waiting";

export type Files = Record<string, string | Uint8Array>;

/** What a test begins with. File names are its own: the folder is that of the tests before it. */
export interface Scene {
  files?: Files;
  replies?: readonly Reply[];
  /** Those that the server has. */
  models?: readonly string[];
}

export interface Options extends Scene {
  /** Of the folder. */
  settings?: Record<string, unknown>;
  width?: number;
}

/** Where a window opens. */
export interface Place {
  context: BrowserContext;
  server: CodeServer;
  forward: Forward;
}

export class Window {
  private model: Model | undefined;

  private constructor(
    readonly page: Page,
    readonly workspace: string,
    readonly place: Place,
  ) {}

  static async open(options: Options, place: Place): Promise<Window> {
    const workspace = mkdtempSync(join(tmpdir(), "llamagent-ws-"));
    const page = await place.context.newPage();
    await page.setViewportSize({ width: options.width ?? 1700, height: 1000 });
    const window = new Window(page, workspace, place);
    window.write({
      ...options.files,
      ...(options.settings === undefined ? {} : { ".vscode/settings.json": JSON.stringify(options.settings) }),
    });
    await window.play(options.replies ?? [], options.models); // before the daemon looks which models there are
    await window.load();
    return window;
  }

  async load(): Promise<void> {
    await this.page.goto(`${this.place.server.url}/?folder=${encodeURIComponent(this.workspace)}`);
    await this.page.locator(".monaco-workbench .explorer-folders-view").waitFor();
    await this.page.waitForFunction("window.driver !== undefined"); // made a little after what is seen
    await this.page.evaluate("window.driver.whenWorkbenchRestored()");
    await this.statusItem.waitFor(); // the extension is active
  }

  /** The next test in this window: its files, its model, an empty conversation. */
  async begin({ files = {}, replies = [], models = [] }: Scene): Promise<void> {
    this.write(files);
    await this.play(replies, models);
    if (!(await this.prompt.isVisible())) {
      await this.openPanel();
    }
    await this.prompt.fill("");
    await this.newConversation();
  }

  /** An empty one stays: what is asked in the moment in which a new one begins may still come into the old one. */
  async newConversation(): Promise<void> {
    const rows = this.panel.locator(".row");
    if ((await rows.count()) === 0) {
      return;
    }
    await this.page.locator('.part.auxiliarybar a.action-label[aria-label^="New Conversation"]').first().click();
    await until("an empty conversation", async () => (await rows.count()) === 0);
  }

  /** What the model answers from now on. */
  async play(replies: readonly Reply[], models: readonly string[] = []): Promise<void> {
    const old = this.model;
    this.model = await startModel(replies, models);
    this.place.forward.to(this.model.port);
    old?.stop();
  }

  /** The model's held reply goes on to its end. */
  release(): void {
    this.model?.release();
  }

  /** Another window of the same VS Code, with the same model. */
  async beside(files: Files): Promise<Window> {
    const page = await this.place.context.newPage();
    await page.setViewportSize({ width: 1700, height: 1000 });
    const window = new Window(page, mkdtempSync(join(tmpdir(), "llamagent-ws-")), this.place);
    window.write(files);
    await window.load();
    return window;
  }

  async close(): Promise<void> {
    const before = new Set(daemonsOf(this.place.server));
    await this.page.goto("about:blank"); // only a window that is left tells VS Code that it ends
    await this.page.close();
    if (this.model !== undefined) {
      // A late request of this window's daemon would take the next test's reply.
      await until("a daemon to end", () => daemonsOf(this.place.server).length < before.size || before.size === 0);
      this.model.stop();
    }
  }

  read(name: string): string {
    return readFileSync(join(this.workspace, name), "utf8");
  }

  write(files: Files): void {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.workspace, name)), { recursive: true });
      writeFileSync(join(this.workspace, name), content);
    }
  }

  get panel(): FrameLocator {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  }

  get statusItem(): Locator {
    return this.page.locator('.statusbar-item[id*="llamagent"]');
  }

  get reviewTab(): Locator {
    return this.page.locator('.tabs-container .tab[aria-label^="Review:"]');
  }

  get quickInput(): Locator {
    return this.page.locator(".quick-input-widget input.input");
  }

  quickRow(text: string): Locator {
    return this.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first();
  }

  /** By its row and not by Enter: while the list is still filtered, Enter takes another one. */
  async command(title: string): Promise<void> {
    await this.page.keyboard.press("F1");
    await this.quickInput.fill(`>${title}`);
    await this.page.locator(`.quick-input-list .monaco-list-row[aria-label^="${title}"]`).first().click();
  }

  async openPanel(): Promise<void> {
    await this.command("Llamagent: Open the Panel");
    await this.prompt.waitFor();
  }

  get prompt(): Locator {
    return this.panel.getByRole("textbox", { name: "Ask llamagent" });
  }

  /** Ends when what is typed goes into the prompt. */
  async inPrompt(): Promise<void> {
    await until("the focus in the prompt", () =>
      this.prompt.evaluate("document.hasFocus() && document.activeElement?.tagName === 'TEXTAREA'"),
    );
  }

  button(name: string): Locator {
    return this.panel.getByRole("button", { name, exact: true });
  }

  async ask(text: string): Promise<void> {
    await this.prompt.fill(text);
    await this.prompt.press("Enter");
  }

  /** Ends when the panel shows these words. */
  async shows(words: string): Promise<void> {
    await this.panel.locator(".trace").getByText(words).first().waitFor();
  }

  titleIcon(label: string): Locator {
    const icons = ".editor-group-container.active .editor-actions a.action-label";
    return this.page.locator(`${icons}[aria-label^="${label}"]`).first();
  }

  /** A button of a row of the list on top. */
  async pressOnRow(row: string, action: string): Promise<void> {
    await this.quickRow(row).hover();
    await this.quickRow(row).locator(`.action-label[aria-label="${action}"]`).click();
  }

  get dialog(): Locator {
    return this.page.locator(".monaco-dialog-box");
  }

  /** The text of the editor in front, as far as it is on the screen; its lines are in no order. */
  async editorText(): Promise<string> {
    const lines = this.page.locator(".editor-group-container.active .view-lines");
    return (await lines.first().innerText()).replace(/\u00a0/g, " ");
  }

  async openFile(name: string): Promise<void> {
    await this.page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).dblclick();
    await this.page.locator(`.tabs-container .tab[data-resource-name="${name}"]`).waitFor();
    // Its tab is there before it is the active editor: where the cursor stands is said from then on.
    await this.page.locator('.statusbar-item[id="status.editor.selection"]').waitFor();
  }
}
