"""All benchmarks one after the other, and their tables as they stand in docs/PERFORMANCE.md: `python -m bench`.

    python -m bench                      all, some twenty minutes on a quiet machine
    python -m bench --only start steps   some
    python -m bench --tables             the tables of the last runs, without a new one
    python -m bench --page               as --tables, and docs/PERFORMANCE.md has these tables then

What a benchmark says goes to stderr, the tables to stdout. Exits with 1 where one failed or a bound is missed.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.harness import RESULTS, markdown

PAGE = Path(__file__).parents[1] / "docs" / "PERFORMANCE.md"
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
    parser.add_argument("--page", action="store_true", help="run nothing, put the tables into docs/PERFORMANCE.md")
    given = parser.parse_args()
    if given.page:
        fill(given.only)
    codes = [] if given.tables or given.page else [run(name) for name in given.only]
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


def fill(names: Sequence[str]) -> None:
    """Put the tables of the last runs where the page has a mark for them."""
    text = PAGE.read_text("utf-8")
    for name in names:
        kept = RESULTS / f"{name}.json"
        mark, end = f"<!-- bench.{name} -->\n", "<!-- end -->\n"
        before, found, rest = text.partition(mark)
        if kept.is_file() and found:
            table = markdown(json.loads(kept.read_text("utf-8")))
            text = f"{before}{mark}{table}\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    sys.exit(main())
