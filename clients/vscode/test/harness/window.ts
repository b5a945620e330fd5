/** One VS Code window in the browser, by its selectors (VS Code 1.139). */

import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import type { Browser, FrameLocator, Locator, Page } from "playwright-core";

import { type Model, type Reply, startModel } from "./fakes";
import { type CodeServer, startCodeServer } from "./server";

export interface Options {
  files?: Record<string, string | Uint8Array>;
  replies?: readonly Reply[];
  settings?: Record<string, unknown>;
  width?: number;
}

export class Window {
  private constructor(
    readonly page: Page,
    readonly workspace: string,
    readonly server: CodeServer,
    readonly model: Model,
  ) {}

  static async open(browser: Browser, extensions: string, options: Options = {}): Promise<Window> {
    const workspace = mkdtempSync(join(tmpdir(), "llamagent-ws-"));
    for (const [name, content] of Object.entries(options.files ?? {})) {
      mkdirSync(dirname(join(workspace, name)), { recursive: true });
      writeFileSync(join(workspace, name), content);
    }
    const model = await startModel(options.replies ?? []);
    const own = mkdtempSync(join(tmpdir(), "llamagent-ext-"));
    cpSync(extensions, own, { recursive: true });
    const server = await startCodeServer(own, { "llamagent.url": model.url, ...options.settings });
    const page = await browser.newPage({ viewport: { width: options.width ?? 1700, height: 1000 } });
    const window = new Window(page, workspace, server, model);
    await window.load();
    return window;
  }

  async load(): Promise<void> {
    await this.page.goto(`${this.server.url}/?folder=${encodeURIComponent(this.workspace)}`);
    await this.page.locator(".monaco-workbench .explorer-folders-view").waitFor();
    await this.page.evaluate("window.driver.whenWorkbenchRestored()");
    await this.statusItem.waitFor(); // the extension is active
  }

  /** Another window of the same VS Code. */
  beside(page: Page, workspace: string): Window {
    return new Window(page, workspace, this.server, this.model);
  }

  async close(): Promise<void> {
    await this.page.close();
    this.server.stop();
    this.model.stop();
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
