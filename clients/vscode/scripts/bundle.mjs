/** Fills bundled/ with the daemon and its dependencies, by the Python of the project's environment. No network. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const venv = join(here, "..", "..", "..", ".venv");
const candidates = [
  process.env.LLAMAGENT_PYTHON,
  join(venv, "bin", "python"),
  join(venv, "Scripts", "python.exe"),
  "python3",
].filter((path) => path !== undefined && (!path.includes(".venv") || existsSync(path)));
const { status, error } = spawnSync(candidates[0], [join(here, "bundle.py")], { stdio: "inherit" });
if (error) {
  console.error(`${candidates[0]}: ${error.message}`);
}
process.exit(status ?? 1);
