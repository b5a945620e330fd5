"""What VS Code's panel takes for many events: its real page in a real Chromium, with VS Code's side of it played.

    python -m bench.vscode [--times 15]

Measures the page's first paint, 1,000 events of a real kind of conversation drawn at once (under 100 ms until they are
on the screen), the same as a replay, how much of that is the page's own work (its thread's time, whatever else the
machine does), and the longest frame while 1,000 events a second stream in. Needs Chromium and Node
(`clients/vscode/ci.sh tools`). Exits with 1 where a limit is missed.
"""

import json
import subprocess
import sys
from pathlib import Path

from bench.harness import Figure, needs, options, report

EXTENSION = Path(__file__).resolve().parents[1] / "clients" / "vscode"
NAMES = {
    "first": ("first paint", "ms"),
    "atOnce": ("1,000 events at once", "ms"),
    "work": ("work of the page for them", "ms"),
    "again": ("replay of 1,000 events", "ms"),
    "rate": ("events a second", "1/s"),
    "longest": ("longest frame while streaming", "ms"),
}
LIMITS = {"1,000 events at once": 100.0, "replay of 1,000 events": 100.0}


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--times", type=int, default=15)
    given = parser.parse_args()
    needs("node", "Install Node 20 or newer.")
    try:
        subprocess.run(["node", "esbuild.mjs", "--tests"], cwd=EXTENSION, check=True)
        command = ["node", "test-out/panelbench.js", str(given.times)]
        printed = subprocess.run(command, cwd=EXTENSION, check=True, stdout=subprocess.PIPE, text=True).stdout
    except subprocess.CalledProcessError as error:
        raise SystemExit(
            "The panel could not be measured, for the reason above. `make vsix` and "
            "`clients/vscode/ci.sh tools` bring what it needs."
        ) from error
    values: dict[str, list[float]] = json.loads(printed)
    figures = [Figure(*NAMES[name], tuple(found)) for name, found in values.items()]
    return report("vscode", figures, limits=LIMITS)


if __name__ == "__main__":
    sys.exit(main())
