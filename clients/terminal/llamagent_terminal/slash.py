"""The `/` commands of the conversation mode: the table of the protocol, with shorter names for some."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Any, get_args

from llamagent_server.lsp.wire import COMMANDS, Command
from llamagent_terminal import prompt, report
from llamagent_terminal.prompt import Answer
from llamagent_terminal.screen import Screen, Span, Style
from llamagent_terminal.session import Session
from llamagent_terminal.show import ERROR, say
from llamagent_terminal.terminal import can_ask

# Other words for a command, with the arguments that they always give it; its own name means the same with none.
_WORDS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "model": ("set_model", {}),
    "temp": ("set_temperature", {}),
    "ctx": ("set_num_ctx", {}),
    "skill": ("load_skill", {}),
    "delete": ("delete_session", {}),
    "undo": ("undo_turn", {}),
    "disallow": ("allow", {"revoke": True}),
    "trust": ("trust", {"trusted": True}),
    "untrust": ("trust", {"trusted": False}),
}
_ALSO: Mapping[str, str] = {"temperature": "temp", "num_ctx": "ctx"}  # words of old
# What a word does, where the command's own help is for a dialog, or for more than this word.
_HELP: Mapping[str, str] = {
    "temp": "Set the temperature, from 0 to 2.",
    "ctx": "Set the context window, in tokens.",
    "disallow": "Ask again before commands that begin so.",
    "trust": "Trust a folder (this one).",
    "untrust": "Stop trusting a folder (this one).",
}
# Not to be typed: `ask` is what everything else is, while a turn runs nothing is read, and the rest is for editors.
_HIDDEN = frozenset({"ask", "cancel", "complete", "unqueue", "trace", "ask_about"})
# What a word means with nothing after it, as in the `llamagent` terminal agent: the value of a setting, or the newest.
_SETTINGS: Mapping[str, str] = {"set_model": "model", "set_temperature": "temperature", "set_num_ctx": "num_ctx"}
_ALONE: Mapping[str, Mapping[str, object]] = {"resume": {"ref": 1}}
_NOT_TYPED = frozenset({"session", "turn", "revoke", "undo"})  # arguments; the session is always the current one


@dataclass(frozen=True, slots=True)
class Typed:
    """A command as it can be typed: its word, and the arguments that the word gives it."""

    word: str
    command: Command
    given: Mapping[str, object]

    @property
    def argument(self) -> Field[Any] | None:
        """The one argument that is typed after the word."""
        left = [field for field in fields(self.command.arguments) if field.name not in (*_NOT_TYPED, *self.given)]
        return left[0] if left else None

    @property
    def help(self) -> str:
        return _HELP.get(self.word, self.command.help)

    @property
    def form(self) -> str:
        """How it is typed, such as `/model VALUE`."""
        argument = self.argument
        if argument is None:
            return f"/{self.word}"
        name = argument.name.upper()
        return f"/{self.word} [{name}]" if self.stands_alone else f"/{self.word} {name}"

    @property
    def stands_alone(self) -> bool:
        """Whether it means something with nothing after it."""
        name = self.command.name
        return self.argument is None or not _required(self.argument) or name in _SETTINGS or name in _ALONE


def is_command(text: str) -> bool:
    return text.startswith("/") and not text.startswith("//") and "\n" not in text


def run(session: Session, text: str) -> None:
    """Do what `text` says and show the result. Raises RequestFailed."""
    word, _, rest = text[1:].strip().partition(" ")
    typed = {one.word: one for one in _typed()}.get(_ALSO.get(word, word)) or _by_name(word)
    if word == "help":
        _help(session.screen)
    elif typed is None:
        say(session.screen, ERROR, f"There is no /{word}. /help lists the commands.")
    else:
        _call(session, typed, rest.strip())


def _served() -> dict[str, Command]:
    return {command.name: command for command in COMMANDS if command.served and command.name not in _HIDDEN}


def _typed() -> list[Typed]:
    """Every command once for each of its words."""
    served = _served()
    renamed = {name for name, _ in _WORDS.values()} - {"allow"}
    own = [Typed(name, command, {}) for name, command in served.items() if name not in renamed]
    return own + [Typed(word, served[name], given) for word, (name, given) in _WORDS.items() if name in served]


def _by_name(name: str) -> Typed | None:
    command = _served().get(name)
    return None if command is None else Typed(name, command, {})


def _help(screen: Screen) -> None:
    rows = [(typed.form, typed.help) for typed in _typed()] + [("/quit", "Leave (also Ctrl-D).")]
    widest = max(len(form) for form, _ in rows)
    for form, words in rows:
        screen.line("  ", Span(form.ljust(widest), Style.MODEL), "  ", words)
    screen.line(Span('  A line that ends in \\ goes on; """ begins and ends a text of several lines.', Style.DIM))


def _call(session: Session, typed: Typed, words: str) -> None:
    argument = typed.argument
    if argument is None and words:
        say(session.screen, ERROR, f"/{typed.word} takes nothing after it.")
    elif not words and typed.command.name in _SETTINGS:
        _show_setting(session, _SETTINGS[typed.command.name])
    elif not words and not typed.stands_alone:
        say(session.screen, ERROR, f"Say {typed.form}.")
    else:
        given = {} if argument is None else _value(session, argument, words)
        _run(session, typed, given or _ALONE.get(typed.command.name, {}))


def _run(session: Session, typed: Typed, given: Mapping[str, object]) -> None:
    name = typed.command.name
    if name == "retry":
        undo = bool(session.desk.edits) and _agrees(session, "Take back what the turn changed, first?")
        session.turn("retry", **given, undo=undo)
    elif name == "delete_session" and can_ask() and not _agrees(session, f"Delete conversation {given['ref']}?"):
        session.screen.line(Span("nothing was deleted", Style.DIM))
    else:
        result = session.command(name, **typed.given, **given)
        report.show(session.screen, name, result if isinstance(result, Mapping) else {})


def _agrees(session: Session, question: str) -> bool:
    return can_ask() and prompt.yes_or_no(session.screen, question, lambda: False) is Answer.YES


def _show_setting(session: Session, key: str) -> None:
    rows = session.command("config")["settings"]
    row = next((row for row in rows if row["key"] == key), None)
    if row is not None:
        session.screen.line(f"{key}: {row['value']} ", Span(f"({row['source']})", Style.DIM))


def _required(argument: Field[Any]) -> bool:
    return argument.default is MISSING and argument.name != "folder"


def _value(session: Session, argument: Field[Any], words: str) -> dict[str, object]:
    """The argument by its name: a number where it takes one. The daemon says what is wrong with anything else."""
    if argument.name == "folder":
        return {"folder": str(Path(words).expanduser().absolute() if words else session.folder)}
    if not words:
        return {}
    kinds = tuple(kind for kind in (int, float) if kind is argument.type or kind in get_args(argument.type))
    return {argument.name: next((number for kind in kinds if (number := _number(kind, words)) is not None), words)}


def _number(kind: Callable[[str], float], words: str) -> float | None:
    try:
        return kind(words)
    except ValueError:
        return None
