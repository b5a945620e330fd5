"""`llamagent-server ask`: one turn, watched; its end is the exit code."""

import json
import sys
from collections.abc import Mapping
from typing import Any

from llamagent_terminal import terminal
from llamagent_terminal.options import Options
from llamagent_terminal.screen import Screen, Span, Style
from llamagent_terminal.session import DaemonGone, Quit, RequestFailed, Session, View, opened
from llamagent_terminal.show import ERROR, HARNESS, say
from llamagent_terminal.wide import agreed

ANSWERED, FAILED, STOPPED, REFUSED, INTERRUPTED = 0, 1, 3, 4, 130


def ask(text: str, options: Options) -> int:
    """Run one turn on `text`. Returns the exit code: 0 answered, 1 error, 3 a limit, 4 refused, 130 Ctrl-C."""
    terminal.leave_on_hangup()
    screen = make_screen(sys.stderr if options.json else sys.stdout)
    view = View(screen, asking_screen(), _JsonLines() if options.json else None)
    try:
        if not agreed(view.asking or screen, options):
            return REFUSED
        with opened(options, view) as session:
            if options.resume:
                resume_newest(session)
            result = session.ask(text, read_only=options.read_only)
            if options.json:
                _print_json(result)
            return exit_code(result, session)
    except RequestFailed as error:
        if options.json:
            _print_json({"error": {"code": error.code, "message": error.message, "data": dict(error.data)}})
        return INTERRUPTED if error.cancelled else say_failed(screen, error)
    except DaemonGone as gone:
        return say_gone(screen, gone)
    except (Quit, KeyboardInterrupt):
        return INTERRUPTED


def exit_code(result: Mapping[str, Any], session: Session) -> int:
    match result.get("stopReason"):
        case "refused":
            return REFUSED
        case "step_limit" | "budget":
            return STOPPED
        case "cancelled":
            return INTERRUPTED
        case _:
            desk = session.desk
            return REFUSED if desk.refusals and not desk.consents else ANSWERED


def make_screen(stream: Any) -> Screen:
    terminal.make_safe(stream)
    live = terminal.is_live(stream)
    return Screen(
        stream, colour=terminal.wants_colour(stream), live=live, width=terminal.width if stream.isatty() else None
    )


def asking_screen() -> Screen | None:
    """Where a person sees questions although our output goes elsewhere, as in `ask ... > file`; None: nowhere else."""
    if terminal.can_ask() and not sys.stdout.isatty():
        return make_screen(sys.stderr)
    return None


def resume_newest(session: Session) -> None:
    """Go on with the newest conversation; that there is none is said, and a new one begins."""
    if not session.command("sessions")["sessions"]:
        say(session.screen, HARNESS, "no conversation to go on with here: this is a new one")
        return
    resumed = session.command("resume", ref=1)
    session.screen.line(Span(f"going on with: {resumed['title'] or resumed['session']}", Style.DIM))


def say_failed(screen: Screen, error: RequestFailed) -> int:
    say(screen, ERROR, error.message)
    return FAILED


def say_gone(screen: Screen, gone: DaemonGone) -> int:
    screen.status("")
    say(screen, ERROR, f"The daemon ended unexpectedly (exit code {gone.code}).")
    for line in gone.last_words:
        screen.line("  ", Span(line, Style.DIM))
    todo = (
        "What was accepted is on disk. `llamagent-server chat -c` goes on with the conversation; "
        "`llamagent-server doctor` looks for the cause, `--log-file F` keeps a log."
    )
    for text in screen.wrapped(todo, 2):
        screen.line(f"  {text}")
    return FAILED


class _JsonLines:
    """The trace as it comes, one event a line."""

    def event(self, event: Mapping[str, Any]) -> None:
        _print_json(event)

    def tick(self) -> None:
        """A reader of JSON Lines is told nothing when nothing happens."""


def _print_json(value: Mapping[str, Any]) -> None:
    """ASCII only, so that no control character reaches a terminal."""
    sys.stdout.write(json.dumps(value, separators=(",", ":")) + "\n")
    sys.stdout.flush()
