/** What the click tests share: one VS Code with the built package installed, one browser, one address for the models. */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Browser, BrowserContext } from "playwright-core";

import { type Forward, startForward } from "./forward";
import { checkTools, EXTENSION, VSIX } from "./places";
import { type CodeServer, install, startBrowser, startCodeServer } from "./server";
import { ownTemporaryFolder } from "./temporary";
import { type Options, type Scene, Window } from "./window";

const PATIENCE_MS = Number(process.env["LLAMAGENT_PATIENCE_MS"] ?? 90_000);

/** Its windows share a browser profile: what VS Code and the panel's page once loaded is there for the next. */
export class Stage {
  private shared: Window | undefined;

  private constructor(
    private readonly browser: Browser,
    private readonly context: BrowserContext,
    private readonly server: CodeServer,
    readonly forward: Forward,
  ) {}

  static async start(flags: readonly string[] = []): Promise<Stage> {
    checkTools();
    ownTemporaryFolder();
    const extensions = mkdtempSync(join(tmpdir(), "llamagent-installed-"));
    install(VSIX, extensions);
    const forward = await startForward();
    const server = await startCodeServer(extensions, { "llamagent.url": forward.url }, flags);
    const browser = await startBrowser();
    const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
    context.setDefaultTimeout(PATIENCE_MS); // a busy machine is no fault of the product
    return new Stage(browser, context, server, forward);
  }

  /** A window on a folder of its own. */
  async open(options: Options = {}): Promise<Window> {
    const { context, server, forward } = this;
    return Window.open(options, { context, server, forward });
  }

  /** The window that the tests share, with the panel open on a fresh conversation. */
  async scene(scene: Scene): Promise<Window> {
    this.shared ??= await this.open({ settings: { "llamagent.save": "on_accept" } });
    await this.shared.begin(scene);
    return this.shared;
  }

  /** A picture of what failed; the next test gets a new window. */
  async failed(title: string): Promise<void> {
    const window = this.shared;
    this.shared = undefined;
    if (window !== undefined) {
      const name = `failed-${title.replace(/\W+/g, "-")}.png`;
      await window.page.screenshot({ path: join(EXTENSION, "test-out", name) });
      await window.close();
    }
  }

  async stop(): Promise<void> {
    await this.shared?.close();
    await this.browser.close();
    this.server.stop();
    this.forward.stop();
  }
}
