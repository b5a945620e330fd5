"""`python -m tests.faults.fuzz TARGET --seconds 600 [--engine atheris]`: fuzz one target; a crash ends with status 1.

atheris (coverage-guided; `pip install atheris` on Linux) keeps what it finds in --work. What is worth keeping goes to
tests/faults/corpus/TARGET, which every test run plays.
"""

import argparse
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

NAMES = ("calls", "commands", "framing", "journal", "messages", "ollama", "openai", "paths", "settings")


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.faults.fuzz", description=__doc__)
    parser.add_argument("target", choices=NAMES)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--engine", choices=["atheris", "hypothesis"], default="hypothesis")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("fuzz-work"), help="where atheris keeps its corpus")
    arguments = parser.parse_args()
    return _atheris(arguments) if arguments.engine == "atheris" else _hypothesis(arguments)


def _checked_seeds(name: str) -> Callable[[bytes], None]:
    from tests.faults.fuzz.inputs import seeds
    from tests.faults.fuzz.targets import TARGETS

    for seed in seeds(name):
        TARGETS[name](seed)
    return TARGETS[name]


def _atheris(arguments: argparse.Namespace) -> int:
    """Returns by a crash only: libFuzzer ends the process itself."""
    import atheris  # type: ignore[import-not-found,unused-ignore]

    with atheris.instrument_imports(include=["llamagent_server"]):
        target = _checked_seeds(arguments.target)
    from tests.faults.fuzz.inputs import CORPUS

    work = arguments.work / arguments.target
    work.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={arguments.seconds}", f"-seed={arguments.seed}", "-max_len=4096", "-timeout=20"]
    options += ["-rss_limit_mb=1024", f"-artifact_prefix={work}/crash-", "-print_final_stats=1"]
    kept = CORPUS / arguments.target
    atheris.Setup([sys.argv[0], *options, str(work), *([str(kept)] if kept.exists() else [])], target)
    atheris.Fuzz()
    return 1


def _hypothesis(arguments: argparse.Namespace) -> int:
    """Rounds until the time is over; each has new examples."""
    from hypothesis import HealthCheck, Phase, given
    from hypothesis import settings as hypothesis_settings

    from tests.faults.fuzz.inputs import inputs

    target = _checked_seeds(arguments.target)
    count = 0
    until = time.monotonic() + arguments.seconds

    def check(data: bytes) -> None:
        nonlocal count
        count += 1
        target(data)

    some = hypothesis_settings(
        max_examples=1000,
        deadline=timedelta(seconds=20),
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    while time.monotonic() < until:
        some(given(inputs(arguments.target))(check))()
    print(f"{arguments.target}: {count} inputs, no crash")  # noqa: T201 - a command
    return 0


if __name__ == "__main__":
    sys.exit(main())
