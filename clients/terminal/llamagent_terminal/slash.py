"""The `/` commands of the conversation mode: the table of the protocol, with shorter names for some."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from llamagent_server.lsp.wire import COMMANDS, Command
from llamagent_terminal import report
from llamagent_terminal.screen import Screen, Span, Style
from llamagent_terminal.session import Session
from llamagent_terminal.show import ERROR, say

_SHORT = {"model": "set_model", "temperature": "set_temperature", "num_ctx": "set_num_ctx", "skill": "load_skill"}
_LONG = {name: short for short, name in _SHORT.items()}
# Not to be typed: `ask` is what everything else is, and the rest is for editors.
_HIDDEN = frozenset({"ask", "complete", "unqueue", "trace"})
_OWN = (("quit", "Leave (also Ctrl-D)."),)


def is_command(text: str) -> bool:
    return text.startswith("/") and not text.startswith("//") and "\n" not in text


def run(session: Session, text: str) -> None:
    """Do what `text` says and show the result. Raises RequestFailed."""
    name, _, words = text[1:].strip().partition(" ")
    command = _commands().get(name)
    if name == "help":
        _help(session.screen)
    elif command is None:
        say(session.screen, ERROR, f"There is no /{name}. /help lists the commands.")
    else:
        _call(session, command, words.strip())


def _commands() -> dict[str, Command]:
    served = {command.name: command for command in COMMANDS if command.served and command.name not in _HIDDEN}
    return served | {short: served[name] for short, name in _SHORT.items() if name in served}


def _help(screen: Screen) -> None:
    rows = [(_typed(command), command.help) for name, command in _commands().items() if name == command.name]
    rows += [(f"/{name}", words) for name, words in _OWN]
    widest = max(len(typed) for typed, _ in rows)
    for typed, words in rows:
        screen.line("  ", Span(typed.ljust(widest), Style.MODEL), "  ", words)
    screen.line(Span('  A line that ends in \\ goes on; """ begins and ends a text of several lines.', Style.DIM))


def _typed(command: Command) -> str:
    """How the command is typed, such as `/model VALUE`."""
    argument = _argument(command)
    name = _LONG.get(command.name, command.name)
    if argument is None:
        return f"/{name}"
    return f"/{name} {argument.name.upper()}" if argument.default is MISSING else f"/{name} [{argument.name.upper()}]"


def _argument(command: Command) -> Field[Any] | None:
    """The one argument that can be typed; the session is always the current one."""
    typed = [field for field in fields(command.arguments) if field.name not in ("session", "revoke", "turn")]
    return typed[0] if typed else None


def _call(session: Session, command: Command, words: str) -> None:
    argument = _argument(command)
    if argument is None and words:
        say(session.screen, ERROR, f"/{command.name} takes nothing after it.")
    elif argument is not None and argument.default is MISSING and not words:
        say(session.screen, ERROR, f"Say {_typed(command)}.")
    else:
        arguments = {} if argument is None or not words else {argument.name: _value(argument, words)}
        result = session.command(command.name, **arguments)
        report.show(session.screen, command.name, result if isinstance(result, Mapping) else {})


def _value(argument: Field[Any], words: str) -> object:
    """Numbers where the argument takes one; the daemon says what is wrong with the rest."""
    if argument.type in (str, "str"):
        return words
    for number in (int, float):
        try:
            return number(words)
        except ValueError:
            continue
    return words
