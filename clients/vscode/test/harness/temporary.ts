/** One folder for all that a run of the tests, and what it starts, writes among the temporary files. */

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** From here on the temporary folder is one of this run, also for its children; it is removed when the run ends. What a
 * run left that was killed goes now. */
export function ownTemporaryFolder(): void {
  const above = tmpdir();
  for (const name of readdirSync(above)) {
    const pid = /^llamagent-run-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !runs(Number(pid))) {
      remove(join(above, name));
    }
  }
  const folder = mkdtempSync(join(above, `llamagent-run-${String(process.pid)}-`));
  process.env["TMPDIR"] = folder;
  process.once("exit", () => {
    remove(folder);
  });
}

/** What was killed a moment ago may still write. */
function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (problem) {
    return (problem as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
