/** What the click tests share: one VS Code with the built package installed, one browser, one address for the models. */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Browser, BrowserContext } from "playwright-core";

import { type Forward, startForward } from "./forward";
import { checkTools, VSIX } from "./places";
import { type CodeServer, install, startBrowser, startCodeServer } from "./server";
import { type Options, Window } from "./window";

/** Its windows share a browser profile: what VS Code and the panel's page once loaded is there for the next. */
export class Stage {
  private constructor(
    private readonly extensions: string,
    private readonly browser: Browser,
    private readonly context: BrowserContext,
    private readonly server: CodeServer,
    private readonly forward: Forward,
  ) {}

  static async start(): Promise<Stage> {
    checkTools();
    const extensions = mkdtempSync(join(tmpdir(), "llamagent-installed-"));
    install(VSIX, extensions);
    const forward = await startForward();
    const server = await startCodeServer(extensions, { "llamagent.url": forward.url });
    const browser = await startBrowser();
    return new Stage(extensions, browser, await browser.newContext(), server, forward);
  }

  /** A window on a folder of its own; where the options set something of the machine, in a VS Code of its own. */
  async open(options: Options = {}): Promise<Window> {
    if (options.machine === undefined) {
      const { context, server, forward } = this;
      return Window.open(options, { context, server, forward });
    }
    const server = await startCodeServer(this.extensions, { "llamagent.url": this.forward.url, ...options.machine });
    const context = await this.browser.newContext();
    return Window.open(options, { context, server, forward: this.forward }, async () => {
      await context.close();
      server.stop();
    });
  }

  async stop(): Promise<void> {
    await this.browser.close();
    this.server.stop();
    this.forward.stop();
  }
}
