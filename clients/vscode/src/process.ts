/** The daemon's process: started, listened to when it ends, and ended for sure. */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";

import * as vscode from "vscode";

import { NoProgram, type Program, reason } from "./program";

const GRACE_MS = 2000; // to end by itself once its input is closed

export class DaemonProcess {
  /** Resolves with how it ended, such as `SIGKILL` or `exit code 1`. */
  readonly ended: Promise<string>;

  private constructor(readonly child: ChildProcessWithoutNullStreams) {
    this.ended = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        resolve(signal ?? `exit code ${String(code)}`);
      });
    });
  }

  /** In the home folder: neither an import nor a version file of an opened project may decide what runs. Throws NoProgram. */
  static async start({ command, args }: Program): Promise<DaemonProcess> {
    const child = spawn(command, args, { cwd: homedir() });
    try {
      await once(child, "spawn");
    } catch (problem) {
      throw new NoProgram(
        vscode.l10n.t("The llamagent daemon could not be started: {0}", `${command}: ${reason(problem)}`),
      );
    }
    // A write to a daemon that is gone is told by its end.
    child.on("error", () => undefined).stdin.on("error", () => undefined);
    return new DaemonProcess(child);
  }

  /** How it ended, if that is known within a moment. */
  async howItEnded(): Promise<string> {
    return Promise.race([this.ended, after(GRACE_MS).then(() => "?")]);
  }

  /** Waits a moment for it to end by itself. */
  async end(): Promise<void> {
    this.child.stdin.end();
    await Promise.race([this.ended, after(GRACE_MS)]);
    this.kill();
  }

  kill(): void {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill("SIGKILL");
    }
  }
}

export function after(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}
