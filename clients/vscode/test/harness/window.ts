/** One VS Code window in the browser, by its selectors (VS Code 1.139). */

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import type { BrowserContext, FrameLocator, Locator, Page } from "playwright-core";

import { type Model, type Reply, startModel } from "./fakes";
import type { Forward } from "./forward";
import { type CodeServer, daemonsOf } from "./server";
import { until } from "./waiting";

export interface Options {
  files?: Record<string, string | Uint8Array>;
  replies?: readonly Reply[];
  /** Of the folder. */
  settings?: Record<string, unknown>;
  /** Of the machine, such as a server's address: this window then has a VS Code of its own. */
  machine?: Record<string, unknown>;
  width?: number;
}

/** Where a window opens. */
export interface Place {
  context: BrowserContext;
  server: CodeServer;
  forward: Forward;
}

const nothing = (): Promise<void> => Promise.resolve();

export class Window {
  private constructor(
    readonly page: Page,
    readonly workspace: string,
    readonly place: Place,
    readonly model: Model,
    private readonly afterwards: () => Promise<void>,
  ) {}

  static async open(options: Options, place: Place, afterwards = nothing): Promise<Window> {
    const settings = options.settings && { ".vscode/settings.json": JSON.stringify(options.settings) };
    const workspace = folderWith({ ...options.files, ...settings });
    const model = await startModel(options.replies ?? []);
    place.forward.to(model.port);
    const page = await place.context.newPage();
    await page.setViewportSize({ width: options.width ?? 1700, height: 1000 });
    const window = new Window(page, workspace, place, model, afterwards);
    await window.load();
    return window;
  }

  async load(): Promise<void> {
    await this.page.goto(`${this.place.server.url}/?folder=${encodeURIComponent(this.workspace)}`);
    await this.page.locator(".monaco-workbench .explorer-folders-view").waitFor();
    await this.page.evaluate("window.driver.whenWorkbenchRestored()");
    await this.statusItem.waitFor(); // the extension is active
  }

  /** Another window of the same VS Code. */
  async beside(files: Record<string, string>): Promise<Window> {
    const page = await this.place.context.newPage();
    await page.setViewportSize({ width: 1700, height: 1000 });
    const window = new Window(page, folderWith(files), this.place, this.model, nothing);
    await window.load();
    return window;
  }

  /** Ends when its daemon has ended: a late request would take the next test's reply. */
  async close(): Promise<void> {
    await this.page.goto("about:blank"); // only a window that is left tells VS Code that it ends
    await this.page.close();
    await until("the daemon to end", () => daemonsOf(this.place.server).length === 0);
    this.model.stop();
    await this.afterwards();
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

  async command(title: string): Promise<void> {
    await this.page.keyboard.press("F1");
    await this.page.locator(".quick-input-widget input.input").fill(`>${title}`);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().waitFor();
    await this.page.keyboard.press("Enter");
  }

  async openPanel(): Promise<void> {
    await this.command("Llamagent: Open the Panel");
    await this.prompt.waitFor();
  }

  get prompt(): Locator {
    return this.panel.getByRole("textbox", { name: "Ask llamagent" });
  }

  async ask(text: string): Promise<void> {
    await this.prompt.fill(text);
    await this.prompt.press("Enter");
  }

  titleIcon(label: string): Locator {
    const icons = ".editor-group-container.active .editor-actions a.action-label";
    return this.page.locator(`${icons}[aria-label^="${label}"]`);
  }

  async openFile(name: string): Promise<void> {
    await this.page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).dblclick();
    await this.page.locator(`.tabs-container .tab[data-resource-name="${name}"]`).waitFor();
  }
}

function folderWith(files: Record<string, string | Uint8Array>): string {
  const folder = mkdtempSync(join(tmpdir(), "llamagent-ws-"));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}
