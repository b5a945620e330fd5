/** The panel's view: its page under a strict policy, replayed whenever it comes back. */

import { randomBytes } from "node:crypto";

import * as vscode from "vscode";

import type { FromPage, PanelState, ToPage } from "./messages";
import type { TraceEvent } from "../wire";

export const VIEW = "llamagent.panel";

export interface PanelSource {
  events(): readonly TraceEvent[];
  state(): PanelState;
  receive(message: FromPage): void;
}

export class Panel implements vscode.WebviewViewProvider {
  private view: vscode.WebviewView | undefined;
  private ready = false;
  private waiting: ToPage[] = [];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly source: PanelSource,
  ) {}

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.ready = false;
    const media = vscode.Uri.joinPath(this.extension, "media");
    view.webview.options = { enableScripts: true, localResourceRoots: [media] };
    view.webview.onDidReceiveMessage((message: FromPage) => {
      if (message.type === "ready") {
        this.pageIsReady();
      }
      this.source.receive(message);
    });
    view.onDidDispose(() => {
      this.view = undefined;
      this.ready = false;
    });
    view.onDidChangeVisibility(() => {
      this.ready &&= view.visible; // a hidden page is thrown away, and says `ready` again
    });
    view.webview.html = page(view.webview, media);
  }

  get visible(): boolean {
    return this.view?.visible ?? false;
  }

  /** Events are not kept for a page that is away: it gets all of them when it comes back. */
  post(message: ToPage): void {
    if (this.ready) {
      void this.view?.webview.postMessage(message);
    }
  }

  /** For what must not be lost while the page is on its way. */
  postWhenReady(message: ToPage): void {
    if (this.ready) {
      this.post(message);
    } else {
      this.waiting.push(message);
    }
  }

  /** Show the panel without taking the focus from what the person does. */
  async reveal(): Promise<void> {
    if (this.view === undefined) {
      await vscode.commands.executeCommand(`${VIEW}.focus`, { preserveFocus: true });
    } else {
      this.view.show(true);
    }
  }

  /** The panel and in it the prompt, so that one can write at once. */
  async focus(): Promise<void> {
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    this.postWhenReady({ type: "prompt", text: "" });
  }

  /** For whoever was there: a panel that was put away meanwhile stays away. */
  async focusIfVisible(): Promise<void> {
    if (this.visible) {
      await this.focus();
    }
  }

  private pageIsReady(): void {
    this.ready = true;
    this.post({ type: "reset", events: this.source.events() });
    this.post({ type: "state", state: this.source.state() });
    const waiting = this.waiting;
    this.waiting = [];
    waiting.forEach((message) => {
      this.post(message);
    });
  }
}

function page(webview: vscode.Webview, media: vscode.Uri): string {
  const nonce = randomBytes(16).toString("base64url");
  const file = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(media, name)).toString();
  const policy = [
    "default-src 'none'",
    `style-src ${webview.cspSource}`,
    `font-src ${webview.cspSource}`,
    `script-src 'nonce-${nonce}'`,
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="${attribute(vscode.env.language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>llamagent</title>
<link rel="stylesheet" href="${file("panel.css")}">
</head>
<body data-words="${attribute(JSON.stringify(vscode.l10n.bundle ?? {}))}">
<div id="app"></div>
<script nonce="${nonce}" src="${file("panel.js")}"></script>
</body>
</html>`;
}

function attribute(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");
}
