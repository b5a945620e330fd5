"""Measure something many times, print a table, and keep the figures as JSON.

    from bench.harness import Figure, measure, report

    figures = [measure("answer", "ms", ask_once, times=200)]
    report("responsiveness", figures, limits={"answer": 20.0})

`report` writes bench/results/<name>.json (not in git) and gives the exit code: 1 where a median is above its limit.
"""

import argparse
import json
import math
import os
import platform
import shutil
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

# An installed program is compiled already: without this each start of ours would compile what was changed last.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

RESULTS = Path(__file__).parent / "results"
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6}


def options(description: str | None) -> argparse.ArgumentParser:
    """Of a benchmark: `--help` says what it measures, and what it does not know is refused."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def needs(program: str, how: str) -> None:
    """Ends the benchmark with words where `program` (a name or a path) is not here; `how` says how to get it."""
    if shutil.which(program) is None:
        raise SystemExit(f"{program} is needed, and not here. {how}")


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured, in `unit`, each time."""

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def percentile(self, percent: float) -> float:
        """The smallest value that at least `percent` of all are not above."""
        ordered = sorted(self.values)
        return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def measure(name: str, unit: str, action: Callable[[], object], *, times: int, warm_up: int = 1) -> Figure:
    """How long `action` takes, in "s", "ms" or "us"; the first `warm_up` runs do not count."""
    values = []
    for number in range(-warm_up, times):
        begun = time.perf_counter()
        action()
        taken = time.perf_counter() - begun
        if number >= 0:
            values.append(taken * _PER_SECOND[unit])
    return Figure(name, unit, tuple(values))


async def measure_async(
    name: str, unit: str, action: Callable[[], Awaitable[object]], *, times: int, warm_up: int = 1
) -> Figure:
    """As `measure`, of something that is awaited."""
    values = []
    for number in range(-warm_up, times):
        begun = time.perf_counter()
        await action()
        taken = time.perf_counter() - begun
        if number >= 0:
            values.append(taken * _PER_SECOND[unit])
    return Figure(name, unit, tuple(values))


def table(figures: Sequence[Figure], limits: Mapping[str, float]) -> str:
    """One line a figure: how often it was measured, its median, 95th and 99th percentiles and worst, and its limit."""
    rows: list[tuple[str, ...]] = [("", "n", "median", "p95", "p99", "max", "unit", "limit")]
    for figure in figures:
        limit = limits.get(figure.name)
        verdict = "" if limit is None else f"{limit:g} {'ok' if figure.median <= limit else 'ABOVE'}"
        shown = (figure.median, figure.percentile(95), figure.percentile(99), max(figure.values))
        numbers = tuple(map(_short, shown))
        rows.append((figure.name, str(len(figure.values)), *numbers, figure.unit, verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """Words to the left, numbers to the right."""
    first, *numbers, last = zip(row, widths, strict=True)
    cells = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in numbers), last[0]]
    return "  ".join(cells).rstrip()


def markdown(content: Mapping[str, Any]) -> str:
    """The table of a kept report, as it stands in docs/PERFORMANCE.md. What was measured once has no percentiles."""
    rows = ["| | n | median | p95 | p99 | bound |", "|---|--:|--:|--:|--:|---|"]
    for value in content["figures"]:
        figure = Figure(value["name"], value["unit"], tuple(value["values"]))
        limit = content["limits"].get(figure.name)
        verdict = "" if limit is None else f"{limit:g}: {'met' if figure.median <= limit else 'missed'}"
        spread = [_short(figure.percentile(percent)) if len(figure.values) > 1 else "" for percent in (95, 99)]
        shown = f"{_short(figure.median)} {figure.unit}".strip()
        rows.append(" | ".join((f"| {figure.name}", str(len(figure.values)), shown, *spread, f"{verdict} |")))
    return "\n".join(rows)


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def report(name: str, figures: Sequence[Figure], *, limits: Mapping[str, float] | None = None) -> int:
    """Print and keep the figures. 1 where the median of one is above its limit, else 0."""
    bounds = limits or {}
    print(f"{name}\n{table(figures, bounds)}")  # noqa: T201 - a program for the console
    RESULTS.mkdir(exist_ok=True)
    content = {
        "name": name,
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "limits": dict(bounds),
        "figures": [asdict(figure) for figure in figures],
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return int(any(figure.median > bounds.get(figure.name, math.inf) for figure in figures))


if __name__ == "__main__":
    sys.exit("This is what the benchmarks share; run one of them: python -m bench.sessions")
