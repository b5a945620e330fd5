/** What the tests in the extension host need: files in the workspace, a scripted model, the extension's parts. */

import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import * as vscode from "vscode";

import type { Api } from "../../src/extension";
import type { Parts } from "../../src/parts";
import type { EventKind, EventOf } from "../../src/wire";
import { type Model, type Reply, startModel } from "../harness/fakes";
import { until } from "../harness/waiting";

export async function extensionParts(): Promise<Parts> {
  const extension = vscode.extensions.getExtension<Api>("llamagent.llamagent");
  if (extension === undefined) {
    throw new Error("the extension is not there");
  }
  const { parts } = await extension.activate();
  await parts.daemon.ensure();
  return parts;
}

/** A file of the workspace, with a name that no other test uses. */
export class File {
  readonly name: string;
  readonly path: string;
  readonly uri: vscode.Uri;

  constructor(content: string | Uint8Array | null, name = `${randomUUID().slice(0, 8)}.py`) {
    const folder = vscode.workspace.workspaceFolders?.[0];
    if (folder === undefined) {
      throw new Error("no folder is open");
    }
    this.name = name;
    this.path = join(folder.uri.fsPath, name);
    this.uri = vscode.Uri.file(this.path);
    if (content !== null) {
      mkdirSync(dirname(this.path), { recursive: true });
      writeFileSync(this.path, content);
    }
  }

  get disk(): string {
    return readFileSync(this.path, "utf8");
  }

  get bytes(): Buffer {
    return readFileSync(this.path);
  }

  async document(): Promise<vscode.TextDocument> {
    return vscode.workspace.openTextDocument(this.uri);
  }

  async text(): Promise<string> {
    return (await this.document()).getText();
  }

  async show(): Promise<vscode.TextEditor> {
    return vscode.window.showTextDocument(await this.document(), { preview: false });
  }
}

/** One conversation of its own with a model that follows a script. */
export class Conversation {
  private constructor(
    readonly parts: Parts,
    private readonly model: Model,
  ) {}

  static async start(replies: readonly Reply[], settings: Record<string, unknown> = {}): Promise<Conversation> {
    const parts = await extensionParts();
    const model = await startModel(replies);
    await setSettings({ url: model.url, ...settings });
    await parts.daemon.call("new", {});
    parts.conversation.reset(undefined);
    return new Conversation(parts, model);
  }

  ask(text = "Do it."): Promise<{ answer: string; stopReason: string }> {
    return this.parts.daemon.call("ask", { text });
  }

  /** Resolves once a review is on the screen. */
  async review(): Promise<void> {
    await until("the review's tab", () => reviewTabs().length > 0);
    await until("the review's documents", () => this.proposed().length > 0);
  }

  proposed(): vscode.TextDocument[] {
    return vscode.workspace.textDocuments.filter(({ uri }) => uri.scheme === "llamagent-proposed");
  }

  of<K extends EventKind>(kind: K): EventOf<K>[] {
    return this.parts.conversation.all().filter(({ kind: found }) => found === kind) as unknown as EventOf<K>[];
  }

  async stop(): Promise<void> {
    this.parts.reviews.rejectAll("the test is over");
    this.parts.consents.refuseAll("the test is over");
    await this.parts.daemon.call("cancel", {}).catch(() => undefined);
    this.model.stop();
    await setSettings({ url: undefined, save: undefined });
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  }
}

/** What the person is told and asked by VS Code's own means, and what they answer. Nothing is shown meanwhile. */
export class Person {
  /** Toasts: the words and the buttons. */
  readonly told: { text: string; buttons: string[] }[] = [];
  /** Quick picks: the labels that were offered. */
  readonly offered: string[][] = [];
  /** The buttons to press, the texts to type and the rows to choose, one after the other; then nothing more. */
  readonly presses: string[] = [];
  readonly types: string[] = [];
  readonly picks: RegExp[] = [];
  private readonly originals = new Map<string, unknown>();

  constructor() {
    const toast = (text: string, ...rest: (string | vscode.MessageItem)[]): Promise<unknown> => {
      const title = (item: string | vscode.MessageItem): string => (typeof item === "string" ? item : item.title);
      this.told.push({ text, buttons: rest.map(title) });
      const pressed = rest.find((item) => title(item) === this.presses[0]);
      if (pressed === undefined) {
        return new Promise(() => undefined); // it stays open
      }
      this.presses.shift();
      return Promise.resolve(pressed);
    };
    this.replace("showErrorMessage", toast);
    this.replace("showWarningMessage", toast);
    this.replace("showInformationMessage", toast);
    this.replace("showInputBox", () => Promise.resolve(this.types.shift()));
    this.replace("showQuickPick", (rows: (string | vscode.QuickPickItem)[]) => {
      const label = (row: string | vscode.QuickPickItem): string => (typeof row === "string" ? row : row.label);
      this.offered.push(rows.map(label));
      const wanted = this.picks.shift();
      return Promise.resolve(rows.find((row) => wanted?.test(label(row)) ?? false));
    });
  }

  async hears(words: RegExp): Promise<{ text: string; buttons: string[] }> {
    const find = (): { text: string; buttons: string[] } | undefined => this.told.find(({ text }) => words.test(text));
    await until(`words like ${String(words)}`, () => find() !== undefined);
    return find() ?? { text: "", buttons: [] };
  }

  leave(): void {
    for (const [name, original] of this.originals) {
      Object.defineProperty(vscode.window, name, { value: original, configurable: true, writable: true });
    }
  }

  private replace(name: keyof typeof vscode.window, by: unknown): void {
    this.originals.set(name, vscode.window[name]);
    Object.defineProperty(vscode.window, name, { value: by, configurable: true, writable: true });
  }
}

/** The processes that this extension host started as daemons. */
export function daemons(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((id) => {
      try {
        const [, , parent] = (readFileSync(`/proc/${id}/stat`, "utf8").split(")").at(-1) ?? "").split(" ");
        return (
          Number(parent) === process.pid &&
          /start\.py|llamagent_server|^sleep/.test(readFileSync(`/proc/${id}/cmdline`, "utf8"))
        );
      } catch {
        return false; // it ended while it was looked at
      }
    })
    .map(Number);
}

export function reviewTabs(): vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs).filter(({ label }) => label.startsWith("Review:"));
}

export async function setSettings(values: Record<string, unknown>): Promise<void> {
  for (const [key, value] of Object.entries(values)) {
    await vscode.workspace.getConfiguration("llamagent").update(key, value, vscode.ConfigurationTarget.Global);
  }
}
