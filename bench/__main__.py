"""All benchmarks one after the other, and their tables as they stand in docs/PERFORMANCE.md: `python -m bench`.

    python -m bench                      all, some twenty minutes on a quiet machine
    python -m bench --only start steps   some
    python -m bench --tables             the tables of the last runs, without a new one

What a benchmark says goes to stderr, the tables to stdout. Exits with 1 where one failed or a bound is missed.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence

from bench.harness import RESULTS, markdown

# Each is a module here, which can be run by itself.
BENCHES = (
    "start",
    "steps",
    "responsiveness",
    "projects",
    "big_files",
    "long_conversation",
    "sessions",
    "prompt_tokens",
    "economy",
    "neovim",
    "vscode",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=BENCHES, default=BENCHES, metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--tables", action="store_true", help="run nothing")
    given = parser.parse_args()
    codes = [] if given.tables else [run(name) for name in given.only]
    sys.stdout.write("\n".join(tables(given.only)))
    return int(any(codes))


def run(name: str) -> int:
    begun = time.monotonic()
    code = subprocess.run([sys.executable, "-m", f"bench.{name}"], stdout=sys.stderr, check=False).returncode
    sys.stderr.write(f"[{name}: exit code {code}, {time.monotonic() - begun:.0f} s]\n\n")
    return code


def tables(names: Sequence[str]) -> list[str]:
    found = []
    for name in names:
        kept = RESULTS / f"{name}.json"
        if kept.is_file():
            content = json.loads(kept.read_text("utf-8"))
            found.append(f"`python -m bench.{name}` ({content['measured'][:10]}, Python {content['python']})\n")
            found.append(markdown(content) + "\n")
        else:
            found.append(f"`python -m bench.{name}`: no result yet.\n")
    return found


if __name__ == "__main__":
    sys.exit(main())
