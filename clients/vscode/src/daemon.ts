/** The daemon's life: started once however many ask, restarted, and its end told. */

import { homedir } from "node:os";

import * as vscode from "vscode";
import { ExecuteCommandRequest, LanguageClient, State } from "vscode-languageclient/node";

import { clientOptions, flagsFeature, settingsForDaemon } from "./clientoptions";
import { findProgram } from "./program";
import { type CommandName, type CommandTable, PREFIX, PROTOCOL_VERSION } from "./wire";

export type DaemonState = "stopped" | "starting" | "running" | "failed";

/** Registers what the daemon may send, before the connection begins. */
export type Connect = (client: LanguageClient) => void;

export class Daemon implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private starting: Promise<LanguageClient> | undefined;
  private current: DaemonState = "stopped";
  private readonly changed = new vscode.EventEmitter<DaemonState>();
  readonly onDidChangeState = this.changed.event;

  constructor(
    private readonly extension: vscode.Extension<unknown>,
    private readonly log: vscode.LogOutputChannel,
    private readonly connect: Connect,
  ) {}

  get state(): DaemonState {
    return this.current;
  }

  /** The running client; starts it where there is none. Throws what is in the way, in words for the person. */
  async ensure(): Promise<LanguageClient> {
    if (this.client?.state === State.Running) {
      return this.client;
    }
    this.starting ??= this.start().finally(() => {
      this.starting = undefined;
    });
    return this.starting;
  }

  /** Throws, as `ensure` does. */
  async restart(): Promise<void> {
    await this.stop();
    await this.ensure();
  }

  async stop(): Promise<void> {
    await this.starting?.catch(() => undefined); // whoever began it is told
    const client = this.client;
    this.client = undefined;
    this.become("stopped");
    if (client?.state === State.Running) {
      await client.stop();
    }
  }

  /** Whether the daemon has this command; older and newer ones differ. */
  serves(name: CommandName): boolean {
    return (
      this.client?.initializeResult?.capabilities.executeCommandProvider?.commands.includes(PREFIX + name) ?? false
    );
  }

  async call<K extends CommandName>(
    name: K,
    argument: CommandTable[K]["arguments"],
    token?: vscode.CancellationToken,
  ): Promise<CommandTable[K]["result"]> {
    const client = await this.ensure();
    const params = { command: PREFIX + name, arguments: [argument] };
    return (await client.sendRequest(ExecuteCommandRequest.type, params, token)) as CommandTable[K]["result"];
  }

  /** The person changed settings: the daemon gets all that they set. */
  async tellSettings(): Promise<void> {
    if (this.client?.state === State.Running) {
      const settings = { llamagent: settingsForDaemon() };
      await this.client.sendNotification("workspace/didChangeConfiguration", { settings });
    }
  }

  dispose(): void {
    void this.stop();
    this.changed.dispose();
  }

  private async start(): Promise<LanguageClient> {
    this.become("starting");
    try {
      const program = await findProgram(this.extension.extensionUri);
      this.log.info(`starting ${[program.command, ...program.args].join(" ")}`);
      // In the home folder: neither an import nor a version file of an opened project may decide what runs.
      const server = { ...program, options: { cwd: homedir() } };
      const client = new LanguageClient("llamagent", "llamagent", server, clientOptions(this.log));
      client.registerFeature(flagsFeature);
      this.connect(client);
      client.onDidChangeState(({ oldState, newState }) => {
        if (newState === State.Stopped && oldState === State.Running && this.client === client) {
          this.ended();
        }
      });
      await client.start();
      this.client = client;
      this.become("running");
      this.compareVersions(client);
      return client;
    } catch (problem) {
      this.become("failed");
      this.log.error(problem instanceof Error ? problem : String(problem));
      throw problem;
    }
  }

  private ended(): void {
    this.client = undefined;
    this.become("failed");
    const restart = vscode.l10n.t("Restart");
    const showLog = vscode.l10n.t("Show Log");
    const message = vscode.l10n.t("The llamagent daemon ended unexpectedly. Nothing that waited for you was applied.");
    void vscode.window.showErrorMessage(message, restart, showLog).then((chosen) => {
      if (chosen === restart) {
        void vscode.commands.executeCommand("llamagent.ui.restart");
      } else if (chosen === showLog) {
        this.log.show();
      }
    });
  }

  private compareVersions(client: LanguageClient): void {
    const result = client.initializeResult;
    const ours = (this.extension.packageJSON as { version: string }).version;
    const theirs = result?.serverInfo?.version ?? "?";
    const experimental = result?.capabilities.experimental as { llamagent?: { protocol?: number } } | undefined;
    if (experimental?.llamagent?.protocol !== PROTOCOL_VERSION) {
      const text = vscode.l10n.t(
        "The llamagent daemon {0} and this extension {1} do not speak the same protocol.",
        theirs,
        ours,
      );
      void vscode.window.showWarningMessage(text);
    } else if (theirs !== ours) {
      this.log.warn(`the daemon's version is ${theirs}, the extension's ${ours}`);
    }
  }

  private become(state: DaemonState): void {
    if (state !== this.current) {
      this.current = state;
      this.changed.fire(state);
    }
  }
}
