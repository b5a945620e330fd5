"""`llamagent-server eval`: what is to be tried, what was tried before, the attempts, the reports."""

import asyncio
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from llamagent_server import __version__
from llamagent_server.errors import BadArgument, LlamagentError
from llamagent_server.evaluation import casting
from llamagent_server.evaluation.attempts import Attempt, Case, Ledger
from llamagent_server.evaluation.bare import Recovery
from llamagent_server.evaluation.page import page
from llamagent_server.evaluation.progress import Progress
from llamagent_server.evaluation.report import as_json, markdown
from llamagent_server.evaluation.running import Job, run_jobs
from llamagent_server.evaluation.tasks import Task, load_tasks
from llamagent_server.settings import Provider
from llamagent_server.settings_load import COMMAND_LINE, DEFAULT, Loaded, Sources, load
from llamagent_server.store.config_files import read_config_files
from llamagent_server.store.places import user_folder

FAILED, INTERRUPTED = 1, 130
LEDGER, MARKDOWN, JSON_FILE, PAGE = "attempts.jsonl", "report.md", "report.json", "report.html"


@dataclass(frozen=True, slots=True)
class Plan:
    """`overrides` are settings of the command line; `models` empty: the one of the settings; `out`: a folder.

    `most_steps` cuts every task short, for a quick look; `ablate`: each model also without each recovery of the
    harness, and without all.
    """

    tasks: Path
    models: tuple[str, ...]
    runs: int
    at_once: int
    out: Path
    overrides: Mapping[str, object]
    most_steps: int | None = None
    ablate: bool = False


def evaluate(plan: Plan) -> int:
    """Run what was not run before, and write the reports. Returns 0, 1 for an error or an attempt that broke off, 130
    after Ctrl-C."""
    try:
        tasks = [_cut_short(task, plan.most_steps) for task in load_tasks(plan.tasks)]
        able = _able(tasks)
        if not able:
            raise BadArgument("There is no task that this machine could try.")
        jobs = _jobs(plan, able)
        plan.out.mkdir(parents=True, exist_ok=True)
        return _run(plan, jobs)
    except LlamagentError as error:
        return _wrong(f"{error.message} {error.hint or ''}".strip())
    except OSError as error:
        where = error.filename or plan.out
        return _wrong(f"{where} cannot be written ({error.strerror}). Make room there, or choose a folder with --out.")


def _run(plan: Plan, jobs: Sequence[Job]) -> int:
    ledger = Ledger(plan.out / LEDGER)
    ledger.begin()
    wanted = {job.case: None for job in jobs}
    kept = {attempt.case: attempt for attempt in ledger.read() if attempt.case in wanted}
    missing = [job for job in jobs if job.case not in kept]
    progress = Progress(sys.stderr, len(jobs), len(kept))
    broken: list[Attempt] = []  # they are tried again the next time

    def done(attempt: Attempt) -> None:
        kept[attempt.case] = attempt
        progress.told(attempt)
        if attempt.broke_off:
            broken.append(attempt)
        else:
            ledger.add(attempt)

    code = 0
    lost: OSError | None = None
    try:
        asyncio.run(run_jobs(missing, at_once=plan.at_once, done=done))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except ExceptionGroup as group:
        lost = _first_os_error(group)
    progress.close()
    _report(plan, [kept[case] for case in wanted if case in kept], len(jobs))
    if lost is not None:
        raise lost
    if broken:
        many = "1 attempt" if len(broken) == 1 else f"{len(broken)} attempts"
        _say(f"{many} broke off, through no fault of the model's. The same command tries again what did.")
    if code:
        _say(f"Stopped. What was tried is kept in {plan.out}; the same command goes on from there.")
    return code or (FAILED if broken else 0)


def _first_os_error(group: ExceptionGroup) -> OSError:
    """Raises `group` where anything else is in it."""
    errors, others = group.split(OSError)
    if errors is None or others is not None:
        raise group
    error = errors.exceptions[0]
    return error if isinstance(error, OSError) else _first_os_error(error)


def _report(plan: Plan, attempts: Sequence[Attempt], wanted: int) -> None:
    """Raises OSError where a file cannot be written; the Markdown is printed all the same."""
    conditions = _conditions(plan, attempts, wanted)
    text = markdown(attempts, conditions)
    sys.stdout.write(text)
    (plan.out / MARKDOWN).write_text(text, "utf-8")
    (plan.out / JSON_FILE).write_text(json.dumps(as_json(attempts, conditions), indent=1) + "\n", "utf-8")
    (plan.out / PAGE).write_text(page(attempts, conditions), "utf-8")
    sys.stdout.write(f"\nThe page with plots: {plan.out / PAGE}\n")


def _conditions(plan: Plan, attempts: Sequence[Attempt], wanted: int) -> str:
    settings = _loaded(plan).settings
    broken = sum(one.broke_off for one in attempts)
    made = len(attempts) - broken
    part = "" if made == wanted else f" (of {wanted} wanted)"
    off = f" {broken} broke off and {'is' if broken == 1 else 'are'} not counted." if broken else ""
    day = datetime.now(UTC).date().isoformat()
    many = "1 attempt" if made == 1 else f"{made} attempts"
    return (
        f"{many}{part}, {plan.runs} of each task; provider {settings.provider}, num_ctx {settings.num_ctx}, "
        f"temperature {settings.temperature:g}; llamagent-server {__version__}, {day}.{off}"
    )


# --- What is to be tried -------------------------------------------------------------------------------------------


def _able(tasks: Sequence[Task]) -> list[Task]:
    """The tasks that this machine has the programs for; the others are said."""
    able = []
    for task in tasks:
        lacking = [name for name in task.needs if shutil.which(name) is None]
        if lacking:
            _say(f"{task.name} is left out: there is no {', '.join(lacking)} on this machine.")
        else:
            able.append(task)
    return able


def _jobs(plan: Plan, tasks: Sequence[Task]) -> list[Job]:
    """One round of all tasks and models after the other, so that an early stop leaves comparable figures."""
    loaded = _loaded(plan)
    settings = _own(loaded)
    models = tuple(dict.fromkeys(plan.models)) or (loaded.settings.model,)
    told = json.dumps([settings, dict(plan.overrides), plan.most_steps, __version__], default=str)
    digest = hashlib.sha256(told.encode()).hexdigest()[:8]
    jobs = []
    for run in range(1, plan.runs + 1):
        for model in models:
            played = {task.name: _script(plan, model, task, run) for task in tasks}
            for lacking in _lacking(plan):
                for task in tasks:
                    script = played[task.name]
                    case = Case(_named(model, lacking), task.name, run, f"{task.digest}-{digest}{_digest(script)}")
                    jobs.append(Job(case, task, settings, _prepare(plan, model, script), lacking))
    return jobs


def _script(plan: Plan, model: str, task: Task, run: int) -> str | None:
    """What a scripted model plays: it is made of the task's solution."""
    return casting.script(model, task, run) if plan.overrides.get("provider") == Provider.SCRIPTED else None


def _digest(script: str | None) -> str:
    return "" if script is None else "-" + hashlib.sha256(script.encode()).hexdigest()[:8]


def _cut_short(task: Task, most: int | None) -> Task:
    if most is None or task.limits.steps <= most:
        return task
    return replace(task, limits=replace(task.limits, steps=most))


def _lacking(plan: Plan) -> list[tuple[Recovery, ...]]:
    every = tuple(Recovery)
    return [(), *((one,) for one in every), every] if plan.ablate else [()]


def _named(model: str, lacking: tuple[Recovery, ...]) -> str:
    if not lacking:
        return model
    return f"{model} without {'any' if len(lacking) == len(Recovery) else lacking[0].replace('_', ' ')}"


def _prepare(plan: Plan, model: str, script: str | None) -> Callable[[Path], tuple[str, ...]]:
    flags = [f"--{key.replace('_', '-')}={value}" for key, value in plan.overrides.items() if key != "model"]
    flags.append(f"--model={model}")
    if script is None:
        return lambda _: tuple(flags)

    def play(place: Path) -> tuple[str, ...]:
        path = place / "script.jsonl"
        path.write_text(script, "utf-8")
        return (*flags, f"--url={path}")

    return play


def _loaded(plan: Plan) -> Loaded:
    files, problems = read_config_files(user_folder(), None)
    return load(Sources(files, os.environ, command_line=plan.overrides, problems=problems))


def _own(loaded: Loaded) -> dict[str, Any]:
    """What the person's own files and variables say; the command line goes to the daemon as it is."""
    return {
        key: value.value if isinstance(value, StrEnum) else value
        for key, origin in loaded.origins.items()
        if origin not in (DEFAULT, COMMAND_LINE) and (value := getattr(loaded.settings, key)) is not None
    }


def _say(words: str) -> None:
    sys.stderr.write(words + "\n")


def _wrong(words: str) -> int:
    _say(f"llamagent-server: {words}")
    return FAILED
