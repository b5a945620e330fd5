"""The demo: a small real job in a temporary folder, through the real daemon, judged at the end by running it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llamagent_terminal import prompt, terminal
from llamagent_terminal.ask import (
    ANSWERED,
    FAILED,
    INTERRUPTED,
    REFUSED,
    asking_screen,
    make_screen,
    say_failed,
    say_gone,
)
from llamagent_terminal.client import serve_command
from llamagent_terminal.options import Consent, Options
from llamagent_terminal.prompt import Answer
from llamagent_terminal.screen import Screen, Span, Style
from llamagent_terminal.session import DaemonGone, Quit, RequestFailed, Session, View, opened
from llamagent_terminal.show import ERROR, HARNESS, TOOL, head, say
from llamagent_terminal.visible import prose

JOB = "Create hello.py that prints Hello, then run it"
PROGRAM, PRINTED = "hello.py", "Hello"
_FOLDER = "hello-demo"
_RUN_SECONDS = 10.0
_COMMAND = "llamagent-server"


class Impossible(Exception):
    """The demo cannot be shown; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Cast:
    """Who plays: the tiny model and its size in words, the daemon's flags for it, and the model to install for work.

    `fetch(screen, agreed)` brings the model here; it asks `agreed` before it downloads, and raises Impossible.
    """

    model: str
    size: str
    flags: tuple[str, ...]
    fetch: Callable[[Screen, Callable[[str], bool]], None]
    better: str


@dataclass(frozen=True, slots=True)
class Ran:
    """How the program ended (None: it was not run), and what it printed."""

    code: int | None
    output: str

    @property
    def right(self) -> bool:
        return self.code == 0 and self.output.strip() == PRINTED


def play(cast: Cast) -> int:
    """Show it. Returns 0 only when the program is right, 4 when the person refused, 130 after Ctrl-C, else 1."""
    terminal.leave_on_hangup()
    screen = make_screen(sys.stdout)
    _introduce(screen, cast)
    try:
        cast.fetch(screen, lambda what: _agreed(screen, f"Download {what}?"))
        with tempfile.TemporaryDirectory(prefix="llamagent-", ignore_cleanup_errors=True) as place:
            # The person's own settings, trust and conversations stay out of it, and it out of theirs.
            os.environ["LLAMAGENT_HOME"] = str(Path(place) / "home")
            folder = Path(place).resolve() / _FOLDER
            folder.mkdir()
            code = _act(screen, cast, folder)
    except Impossible as error:
        say(screen, ERROR, str(error))
        return FAILED
    except RequestFailed as error:
        return INTERRUPTED if error.cancelled else say_failed(screen, error)
    except DaemonGone as gone:
        return say_gone(screen, gone)
    except (Quit, KeyboardInterrupt):
        return INTERRUPTED
    _say_what_next(screen, cast, code)
    return code


def _introduce(screen: Screen, cast: Cast) -> None:
    screen.line(Span("A first look at llamagent", Style.BOLD))
    _text(
        screen,
        f"{cast.model} ({cast.size}) runs on this machine and does a small job in a temporary folder. It is the "
        "smallest model that can do it at all, for a first look only: real work needs a bigger one.",
    )
    if not terminal.can_ask():
        _text(screen, "There is no terminal to ask in, so each question is answered with yes.")


def _act(screen: Screen, cast: Cast, folder: Path) -> int:
    consent = Consent.ASK if terminal.can_ask() else Consent.YES
    screen.line()
    screen.line(Span("You ask: ", Style.BOLD), JOB)
    view = View(screen, asking_screen())
    with opened(Options(folder, serve_command(*cast.flags), consent), view) as session:
        result = session.ask(JOB, read_only=False)
        if result.get("stopReason") == "cancelled":
            return INTERRUPTED
        ran = _ran_by_model(session.command("trace")["events"])
        return _judge(screen, folder, session, ran)


def _judge(screen: Screen, folder: Path, session: Session, ran: Ran | None) -> int:
    program = folder / PROGRAM
    screen.line()
    if not program.is_file():
        refused = session.desk.refusals > 0
        _text(screen, f"Nothing was written{', as you wanted' if refused else ''}: there is no {PROGRAM}.")
        return REFUSED if refused else FAILED
    if ran is None:
        say(
            screen,
            HARNESS,
            f"Whatever it says, the model stopped before it ran {PROGRAM}, as models this small do. The demo runs it.",
        )
        head(screen, TOOL, Span(f"$ python {PROGRAM}", Style.BOLD))
        if not _agreed(screen, "Run it?"):
            _text(screen, f"{PROGRAM} was written, and not run.")
            return REFUSED
        ran = _run(program)
        screen.line("  ", prose(ran.output.rstrip()) or "(no output)")
    if ran.right:
        screen.line(Span(f"{PROGRAM} is right: it printed {PRINTED}.", Style.ADDED))
        return ANSWERED
    say(screen, ERROR, f"{PROGRAM} is not right: it should print {PRINTED} and nothing else.")
    return FAILED


def _ran_by_model(events: Iterable[Mapping[str, Any]]) -> Ran | None:
    """What the last command of the model did; None where it ran none."""
    contents = [
        str(event["content"])
        for event in events
        if event.get("kind") == "tool.returned" and event.get("name") == "run_command" and event.get("ok")
    ]
    if not contents:
        return None
    first, _, output = contents[-1].partition("\n")
    return Ran(0 if first == "exit code 0" else 1, output)


def _run(program: Path) -> Ran:
    try:
        done = subprocess.run(
            [sys.executable, "-I", program.name],
            cwd=program.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_RUN_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Ran(None, str(error))
    return Ran(done.returncode, done.stdout.decode(errors="replace"))


def _agreed(screen: Screen, question: str) -> bool:
    if not terminal.can_ask():
        screen.line(Span(f"{question} yes (no terminal to ask in)", Style.DIM))
        return True
    with terminal.raising_interrupts():
        return prompt.yes_or_no(asking_screen() or screen, question, lambda: False) is Answer.YES


def _say_what_next(screen: Screen, cast: Cast, code: int) -> None:
    if code == INTERRUPTED:
        return
    screen.line()
    screen.line(Span("For work", Style.BOLD))
    for number, step in enumerate(next_steps(cast.better), 1):
        screen.line(f"  {number}. {step}")
    _text(screen, f"The folder of this demo was temporary and is gone. `{_COMMAND} doctor` looks at your set-up.")


def next_steps(model: str) -> list[str]:
    """What to do to work with `model`. `make demo` runs in an environment of its own: then the command is not there."""
    install = [] if shutil.which(_COMMAND) else ["in the clone: pipx install .   (or: uv tool install .)"]
    return [
        "install Ollama: https://ollama.com/download",
        f"ollama pull {model}",
        *install,
        f"in your project: {_COMMAND} chat",
    ]


def _text(screen: Screen, text: str) -> None:
    for line in screen.wrapped(text, 0):
        screen.line(line)
