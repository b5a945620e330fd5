/** The daemon's life: started once however many ask, restarted, and its end told. */

import * as vscode from "vscode";
import { ExecuteCommandRequest, LanguageClient, State } from "vscode-languageclient/node";

import { clientOptions, flagsFeature, settingsForDaemon } from "./clientoptions";
import { after, DaemonProcess } from "./process";
import { findProgram } from "./program";
import { compareVersions } from "./versions";
import { type CommandName, type CommandTable, PREFIX } from "./wire";

export type DaemonState = "stopped" | "starting" | "running" | "failed";

const START_MS = 60_000; // for its first answer: a cold disk and a slow machine included
const END_MS = 1000;
const SOON_MS = 20_000; // an end so soon after a start has likely the same cause as the one before

/** What goes on around a daemon: what it may send, before the connection begins; what comes first once it answers. */
export interface Surroundings {
  connect: (client: LanguageClient) => void;
  begun: (client: LanguageClient) => Promise<void>;
}

interface Running {
  client: LanguageClient;
  process: DaemonProcess;
  since: number;
}

/** Whoever started it tells the person what went wrong, once. */
class Client extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** What was started is not wanted any more. */
class Stopped extends Error {}

export class Daemon implements vscode.Disposable {
  private running: Running | undefined;
  private starting: Promise<LanguageClient> | undefined;
  private ending: Promise<void> | undefined;
  /** That are under way. */
  private restarts = 0;
  /** Of a start that is under way. */
  private process: DaemonProcess | undefined;
  /** Counts up with every stop: what began before it is not wanted any more. */
  private era = 0;
  private current: DaemonState = "stopped";
  private readonly changed = new vscode.EventEmitter<DaemonState>();
  readonly onDidChangeState = this.changed.event;

  constructor(
    private readonly extension: vscode.Extension<unknown>,
    private readonly log: vscode.LogOutputChannel,
    private readonly surroundings: Surroundings,
  ) {}

  get state(): DaemonState {
    return this.current;
  }

  get pid(): number | undefined {
    return this.running?.process.child.pid;
  }

  /** The running client; starts it where there is none. Throws what is in the way, in words for the person. */
  async ensure(): Promise<LanguageClient> {
    if (this.running?.client.state === State.Running) {
      return this.running.client;
    }
    if (this.starting === undefined) {
      const starting = this.begin().finally(() => {
        if (this.starting === starting) {
          this.starting = undefined;
        }
      });
      this.starting = starting;
    }
    try {
      return await this.starting;
    } catch (problem) {
      if (problem instanceof Stopped && this.restarts > 0) {
        return this.ensure(); // someone restarts it: that one is as good
      }
      throw problem;
    }
  }

  /** There is one daemon at a time, however many ask for another. Throws, as `ensure` does. */
  async restart(): Promise<void> {
    this.restarts += 1;
    try {
      await this.stop();
      await this.ensure();
    } finally {
      this.restarts -= 1;
    }
  }

  /** Also a daemon that hangs in its start. */
  async stop(): Promise<void> {
    this.ending ??= this.end().finally(() => {
      this.ending = undefined;
    });
    return this.ending;
  }

  /** Whether the daemon has this command; older and newer ones differ. */
  serves(name: CommandName): boolean {
    const commands = this.running?.client.initializeResult?.capabilities.executeCommandProvider?.commands;
    return commands?.includes(PREFIX + name) ?? false;
  }

  async call<K extends CommandName>(
    name: K,
    argument: CommandTable[K]["arguments"],
    token?: vscode.CancellationToken,
  ): Promise<CommandTable[K]["result"]> {
    return callOn(await this.ensure(), name, argument, token);
  }

  /** The person changed settings: the daemon gets all that they set. */
  async tellSettings(): Promise<void> {
    if (this.running?.client.state === State.Running) {
      const settings = { llamagent: settingsForDaemon() };
      await this.running.client.sendNotification("workspace/didChangeConfiguration", { settings });
    }
  }

  dispose(): void {
    void this.stop();
    this.changed.dispose();
  }

  private async begin(): Promise<LanguageClient> {
    await this.ending;
    const { era } = this;
    this.become("starting");
    try {
      const running = await this.connected(era);
      this.running = running;
      this.become("running");
      compareVersions(running.client, this.extension, this.log);
      return running.client;
    } catch (problem) {
      this.process?.kill();
      if (era !== this.era) {
        throw new Stopped(vscode.l10n.t("The daemon was stopped while it started."));
      }
      this.become("failed");
      this.log.error(problem instanceof Error ? problem : String(problem));
      throw problem;
    } finally {
      this.process = undefined;
    }
  }

  private async connected(era: number): Promise<Running> {
    const wanted = (): void => {
      if (era !== this.era) {
        throw new Stopped();
      }
    };
    const program = await findProgram(this.extension.extensionUri);
    wanted();
    this.log.info(`starting ${[program.command, ...program.args].join(" ")}`);
    const process = await DaemonProcess.start(program);
    this.process = process;
    wanted();
    const client = new Client("llamagent", "llamagent", () => Promise.resolve(process.child), clientOptions(this.log));
    client.registerFeature(flagsFeature);
    this.surroundings.connect(client);
    client.onDidChangeState(({ oldState, newState }) => {
      if (newState === State.Stopped && oldState === State.Running && this.running?.client === client) {
        this.ended(this.running);
      }
    });
    const begun = client.start().then(() => this.surroundings.begun(client));
    await Promise.race([begun.catch((problem: unknown) => itsEndOr(process, problem)), noStart(process)]);
    wanted();
    return { client, process, since: Date.now() };
  }

  private async end(): Promise<void> {
    const { running, starting, process } = this;
    this.era += 1;
    this.running = undefined;
    this.starting = undefined;
    this.become("stopped");
    process?.kill();
    await starting?.catch(() => undefined); // whoever began it is told
    if (running?.client.state === State.Running) {
      try {
        await running.client.stop();
      } catch (problem) {
        this.log.warn(`the daemon did not stop: ${String(problem)}`);
      }
    }
    await running?.process.end();
  }

  /** It ended by itself. It is not started again before the person wants something of it: nothing goes round in circles. */
  private ended({ process, since }: Running): void {
    const soon = Date.now() - since < SOON_MS;
    this.running = undefined;
    this.become("failed");
    void process.howItEnded().then(async (how) => {
      process.kill();
      this.log.error(`the daemon ended: ${how}`);
      const restart = vscode.l10n.t("Restart");
      const showLog = vscode.l10n.t("Show Log");
      const message = soon
        ? vscode.l10n.t("The llamagent daemon ended soon after its start ({0}). The log may say why.", how)
        : vscode.l10n.t("The llamagent daemon ended unexpectedly ({0}). Nothing that waited for you was applied.", how);
      const chosen = await vscode.window.showErrorMessage(message, ...(soon ? [showLog, restart] : [restart, showLog]));
      if (chosen === restart) {
        await vscode.commands.executeCommand("llamagent.ui.restart");
      } else if (chosen === showLog) {
        this.log.show();
      }
    });
  }

  private become(state: DaemonState): void {
    if (state !== this.current) {
      this.current = state;
      this.changed.fire(state);
    }
  }
}

/** As `Daemon.call`, of a client at hand. */
export async function callOn<K extends CommandName>(
  client: LanguageClient,
  name: K,
  argument: CommandTable[K]["arguments"],
  token?: vscode.CancellationToken,
): Promise<CommandTable[K]["result"]> {
  const params = { command: PREFIX + name, arguments: [argument] };
  return (await client.sendRequest(ExecuteCommandRequest.type, params, token)) as CommandTable[K]["result"];
}

/** Rejects where the process ends, or says nothing for too long. */
async function noStart(process: DaemonProcess): Promise<never> {
  const how = await Promise.race([process.ended, after(START_MS)]);
  throw how === undefined
    ? new Error(vscode.l10n.t("The llamagent daemon did not answer within {0} seconds.", START_MS / 1000))
    : endedInStart(how);
}

/** A connection breaks a moment before the process is known to have ended: that says more. */
async function itsEndOr(process: DaemonProcess, problem: unknown): Promise<never> {
  const how = await Promise.race([process.ended, after(END_MS)]);
  throw how === undefined ? problem : endedInStart(how);
}

function endedInStart(how: string): Error {
  return new Error(vscode.l10n.t("The llamagent daemon ended while it started ({0}).", how));
}
