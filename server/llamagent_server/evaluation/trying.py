"""One attempt in a process of its own: a fresh copy, the real daemon, one turn with every edit accepted, the check.

`python -m llamagent_server.evaluation.trying ORDER RESULT`: two files of JSON, an `Order` in, a `Tried` out.
"""

import asyncio
import io
import json
import os
import shlex
import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from llamagent_server.core.policy import Mode
from llamagent_server.errors import ErrorKind
from llamagent_server.evaluation.attempts import BROKE_OFF
from llamagent_server.evaluation.bare import Recovery
from llamagent_server.evaluation.measures import Measures, measure
from llamagent_server.evaluation.tasks import ANSWER, Task, load_task
from llamagent_server.processes.box import Reach
from llamagent_server.processes.commands import Ran
from llamagent_server.processes.shell import ShellRunner
from llamagent_server.setting_rules import File
from llamagent_server.settings import BY_KEY, SandboxPolicy, Settings
from llamagent_terminal.client import serve_command
from llamagent_terminal.options import Consent, Options
from llamagent_terminal.screen import Screen
from llamagent_terminal.session import DaemonGone, Quit, RequestFailed, View, opened

CHECK = "_check"
CHECK_SECONDS = 120.0
# Of a request that failed: the model was asked, and what it said could not be used.
_THE_MODELS = (ErrorKind.MODEL_ERROR, ErrorKind.CONTEXT_OVERFLOW, ErrorKind.MODEL_LACKS_TOOLS)


@dataclass(frozen=True, slots=True)
class Order:
    """`settings` are the person's own, by key; `flags` are the daemon's (the model, the server); `without`: recoveries
    that the daemon lacks."""

    task: str
    steps: int
    settings: Mapping[str, Any]
    flags: tuple[str, ...]
    without: tuple[Recovery, ...] = ()

    @property
    def daemon(self) -> tuple[str, ...]:
        """The command that starts it."""
        python, isolated, module, *rest = serve_command(*self.flags)
        if not self.without:
            return (python, isolated, module, *rest)
        return (python, isolated, module, "llamagent_server.evaluation.bare", ",".join(self.without), *rest[1:])


@dataclass(frozen=True, slots=True)
class Tried:
    """`reason` says why it is not solved."""

    solved: bool
    reason: str
    measures: Measures


class _Recorder:
    """Keeps the trace, but for the text as it streams."""

    def __init__(self) -> None:
        self.events: list[Mapping[str, Any]] = []

    def event(self, event: Mapping[str, Any]) -> None:
        if event["kind"] != "model.delta":
            self.events.append(event)

    def tick(self) -> None:
        """Nobody watches."""


def main(order_file: str, result_file: str) -> int:
    value = json.loads(Path(order_file).read_text("utf-8"))
    without = tuple(Recovery(name) for name in value["without"])
    order = Order(value["task"], value["steps"], value["settings"], tuple(value["flags"]), without)
    # Whoever started this removes the folder of the result, and so this one too where this process is killed.
    with tempfile.TemporaryDirectory(dir=Path(result_file).parent, ignore_cleanup_errors=True) as name:
        tried = _try(load_task(Path(order.task)), order, Path(name).resolve())
    Path(result_file).write_text(json.dumps(asdict(tried)), "utf-8")
    return 0


def _try(task: Task, order: Order, place: Path) -> Tried:
    # The person's own trust and conversations stay out of it, and it out of theirs.
    os.environ["LLAMAGENT_HOME"] = str(place / "home")
    _write_settings(place / "home", {**order.settings, "max_steps": order.steps})
    project = place / "project"
    project.mkdir()
    if task.files.is_dir():
        shutil.copytree(task.files, project, symlinks=True, dirs_exist_ok=True)
    turn = _turn(task, order, project)
    measures = measure(turn.events)
    if turn.problem:
        return Tried(solved=False, reason=turn.problem, measures=measures)
    checked = asyncio.run(_check(task, project, turn.answer, SandboxPolicy(order.settings.get("sandbox", "auto"))))
    if checked.ending.code == 0 and not checked.timed_out:
        return Tried(solved=True, reason="", measures=measures)
    return Tried(solved=False, reason=_why(measures, checked, task.mode), measures=measures)


@dataclass(frozen=True, slots=True)
class _Turn:
    events: list[Mapping[str, Any]]
    answer: str
    problem: str  # "" where it ended as turns do


def _turn(task: Task, order: Order, project: Path) -> _Turn:
    recorder = _Recorder()
    options = Options(project, order.daemon, Consent.YES, read_only=task.mode is Mode.READ)
    view = View(Screen(io.StringIO(), colour=False, live=False, width=None), watcher=recorder)
    late = threading.Event()
    answer, problem = "", ""
    try:
        with opened(options, view) as session:

            def stop() -> None:
                late.set()
                session.press()

            timer = threading.Timer(task.limits.seconds, stop)
            timer.daemon = True
            timer.start()
            try:
                answer = str(session.ask(task.prompt, read_only=options.read_only).get("answer", ""))
            finally:
                timer.cancel()
    except RequestFailed as error:
        problem = f"{_whose(error, measure(recorder.events))}: {error.message}"
    except DaemonGone as gone:
        problem = f"{BROKE_OFF}: the daemon ended (exit code {gone.code}): {' '.join(gone.last_words[-1:])}"
    except Quit:
        problem = "interrupted"
    if late.is_set():
        problem = f"not done within {task.limits.seconds:g} s"
    return _Turn(recorder.events, answer, problem)


def _whose(error: RequestFailed, measures: Measures) -> str:
    """How the reason of a failed request begins. A server that gave no reply is no fault of the model's."""
    kind = error.data.get("kind")
    silent = kind == ErrorKind.MODEL_ERROR and not measures.answered
    return "error" if kind in _THE_MODELS and not silent else BROKE_OFF


async def _check(task: Task, project: Path, answer: str, sandbox: SandboxPolicy) -> Ran:
    """Run the check in the project, shut in as the model's commands are: it runs what the model wrote."""
    (project / ANSWER).write_text(answer, "utf-8", "replace")
    check = project / (CHECK + task.check.suffix)
    shutil.copy(task.check, check)
    command = f"{shlex.quote(sys.executable)} -B {check.name}" if check.suffix == ".py" else f"./{check.name}"
    settings = Settings(command_timeout=CHECK_SECONDS, sandbox=sandbox)

    async def reach(_history: bool) -> Reach:
        return Reach((project.resolve(),))

    return await ShellRunner(lambda: settings, reach).run(command, project, network=False)


def _why(measures: Measures, checked: Ran, mode: Mode) -> str:
    if measures.loops:  # such a turn ends as one without a step left does
        return "stopped for going in circles"
    limits = {"step_limit": "no step left", "budget": "no tokens left", "cancelled": "stopped", "refused": "refused"}
    if measures.stop_reason in limits:
        return limits[measures.stop_reason]
    if mode is Mode.AGENT and not measures.changes:
        return "it answered without changing anything"
    if checked.timed_out:
        return f"the check did not end within {checked.seconds_allowed:g} s"
    lines = checked.output.strip().splitlines()
    return lines[-1][:300] if lines else checked.ending.error or f"the check ended with {checked.ending.code}"


def _write_settings(home: Path, settings: Mapping[str, Any]) -> None:
    """The user's files that say `settings`. Texts and lists are written alike in JSON and TOML."""
    home.mkdir(parents=True)
    for file in File:
        lines = [f"{key} = {json.dumps(value)}\n" for key, value in settings.items() if BY_KEY[key].file is file]
        (home / file).write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
