"""All attempts of an evaluation: so many at a time, each in a process of its own, each kept as soon as it has ended."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from llamagent_server.evaluation.attempts import BROKE_OFF, Attempt, Case
from llamagent_server.evaluation.bare import Recovery
from llamagent_server.evaluation.measures import Measures
from llamagent_server.evaluation.tasks import Task
from llamagent_server.evaluation.trying import CHECK_SECONDS, Order
from llamagent_server.processes.commands import Ran, run

_STARTING_SECONDS = 120.0  # a daemon's start and end, and what a tiny machine adds


@dataclass(frozen=True, slots=True)
class Job:
    """`prepare` gives the daemon's flags for this attempt, in a folder that is gone after it; `without`: what of the
    harness it lacks."""

    case: Case
    task: Task
    settings: Mapping[str, Any]
    prepare: Callable[[Path], tuple[str, ...]]
    without: tuple[Recovery, ...] = ()


async def run_jobs(jobs: Sequence[Job], *, at_once: int, done: Callable[[Attempt], None]) -> None:
    """Try all, at most `at_once` together. `done` is told each as it ends. Cancelled: what runs is ended, and is not
    told."""
    gate = asyncio.Semaphore(at_once)

    async def one(job: Job) -> None:
        async with gate:
            done(await _attempt(job))

    async with asyncio.TaskGroup() as group:
        for job in jobs:
            group.create_task(one(job))


async def _attempt(job: Job) -> Attempt:
    with tempfile.TemporaryDirectory(prefix="llamagent-eval-", ignore_cleanup_errors=True) as name:
        place = Path(name).resolve()
        order, result = place / "order.json", place / "result.json"
        task = job.task
        wanted = Order(str(task.folder), task.limits.steps, job.settings, job.prepare(place), job.without)
        order.write_text(json.dumps(asdict(wanted)), "utf-8")
        command = (sys.executable, "-P", "-m", "llamagent_server.evaluation.trying", str(order), str(result))
        patience = task.limits.seconds + CHECK_SECONDS + _STARTING_SECONDS
        ran = await run(command, cwd=place, env=os.environ, timeout=patience)
        return _result(job.case, result, ran)


def _result(case: Case, result: Path, ran: Ran) -> Attempt:
    if not result.is_file():
        lines = ran.output.strip().splitlines() or [f"exit code {ran.ending.code}"]
        return Attempt(case, solved=False, reason=f"{BROKE_OFF}: {lines[-1][:300]}", measures=Measures())
    value = json.loads(result.read_text("utf-8"))
    return Attempt(case, value["solved"], value["reason"], Measures(**value["measures"]))
