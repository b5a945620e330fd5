"""The `/` commands of the conversation mode: the protocol's table, and what this client asks or shows beside them."""

from collections.abc import Mapping
from pathlib import Path

from llamagent_server.lsp.wire import COMMANDS
from llamagent_server.lsp.wire_slash import WORDS, Mistyped, Typed, Word, read
from llamagent_terminal import prompt, report
from llamagent_terminal.prompt import Answer
from llamagent_terminal.screen import Screen, Span, Style, clipped
from llamagent_terminal.session import Session
from llamagent_terminal.show import ERROR, say
from llamagent_terminal.terminal import can_ask
from llamagent_terminal.visible import line

_TITLE_COLUMNS = 44
_HIDDEN = frozenset({"cancel"})  # while a turn runs nothing is read


def command(text: str) -> Typed | Mistyped | None:
    """What `text` is as a command, None where it is words for the model."""
    typed = read(text)
    hidden = isinstance(typed, Typed) and typed.row.command in _HIDDEN
    return Mistyped(text[1:].strip(), None) if hidden else typed


def run(session: Session, typed: Typed | Mistyped) -> None:
    """Do what was typed and show the result. Raises RequestFailed."""
    if isinstance(typed, Mistyped):
        say(session.screen, ERROR, f"{typed.message} {typed.hint}")
    elif typed.problem is not None:
        say(session.screen, ERROR, typed.problem)
    elif typed.row.command == "help":
        _help(session.screen)
    elif typed.row.setting is not None and not typed.rest:
        _show_setting(session, typed.row.setting)
    else:
        _call(session, typed)


def _help(screen: Screen) -> None:
    helps = {command.name: command.help for command in COMMANDS}
    rows = [(row.form, row.help or helps[row.command]) for row in _rows()] + [("/quit", "Leave (also Ctrl-D).")]
    widest = max(len(form) for form, _ in rows)
    for form, words in rows:
        screen.row(Span(form, Style.MODEL), widest, words)
    ends = 'Tab completes /commands and @files. A line that ends in \\ goes on; """ begins and ends several lines.'
    for text in screen.wrapped(ends, 2):
        screen.line(Span(f"  {text}", Style.DIM))


def _rows() -> list[Word]:
    return [row for row in WORDS if row.command not in _HIDDEN]


def _call(session: Session, typed: Typed) -> None:
    name, given = typed.row.command, typed.arguments
    if name == "trust":
        given["folder"] = str(Path(typed.rest).expanduser().absolute() if typed.rest else session.folder)
    if name == "retry":
        undo = bool(session.desk.edits) and _agrees(session, "Take back what the turn changed, first?")
        session.turn("retry", **given, undo=undo)
    elif name == "delete_session" and can_ask() and not _agrees(session, f"Delete {_title(session, given['ref'])}?"):
        session.screen.line(Span("nothing was deleted", Style.DIM))
    else:
        with session.story.waiting(f"/{typed.row.word}"):
            result = session.command(name, **given)
        if name == "undo_turn":
            session.desk.begin_turn()  # what it took back is nothing that a retry could take back
        report.show(session.screen, name, result if isinstance(result, Mapping) else {})


def _title(session: Session, ref: object) -> str:
    """What a person knows conversation `ref` by. That there is none such is the daemon's to say."""
    rows = session.command("sessions")["sessions"]
    known = [row for number, row in enumerate(rows, 1) if ref in (number, row["id"])]
    title = f' "{clipped(line(known[0]["title"]), _TITLE_COLUMNS)}"' if known and known[0]["title"] else ""
    return f"conversation {ref}{title}"


def _agrees(session: Session, question: str) -> bool:
    return can_ask() and prompt.yes_or_no(session.screen, question, lambda: False) is Answer.YES


def _show_setting(session: Session, key: str) -> None:
    rows = session.command("config")["settings"]
    row = next((row for row in rows if row["key"] == key), None)
    if row is not None:
        session.screen.line(f"{key}: {row['value']} ", Span(f"({row['source']})", Style.DIM))
