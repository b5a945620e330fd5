"""The `/` commands of the conversation mode: the table of the protocol, with shorter names for some."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Any

from llamagent_server.lsp.wire import COMMANDS, Command
from llamagent_terminal import report
from llamagent_terminal.screen import Screen, Span, Style
from llamagent_terminal.session import Session
from llamagent_terminal.show import ERROR, say

# Other words for a command, with the arguments that they always give it; its own name means the same with none.
_WORDS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "model": ("set_model", {}),
    "temperature": ("set_temperature", {}),
    "num_ctx": ("set_num_ctx", {}),
    "skill": ("load_skill", {}),
    "disallow": ("allow", {"revoke": True}),
    "trust": ("trust", {"trusted": True}),
    "untrust": ("trust", {"trusted": False}),
}
# What a word does, where the command's own help is for a dialog, or for more than this word.
_HELP: Mapping[str, str] = {
    "temperature": "Set the temperature, from 0 to 2.",
    "num_ctx": "Set the context window, in tokens.",
    "disallow": "Ask again before commands that begin so.",
    "trust": "Trust a folder (this one).",
    "untrust": "Stop trusting a folder (this one).",
}
# Not to be typed: `ask` is what everything else is, while a turn runs nothing is read, and the rest is for editors.
_HIDDEN = frozenset({"ask", "cancel", "complete", "unqueue", "trace", "ask_about"})
_NOT_TYPED = frozenset({"session", "turn", "revoke"})  # arguments; the session is always the current one


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
        return f"/{self.word} {name}" if _required(argument) else f"/{self.word} [{name}]"


def is_command(text: str) -> bool:
    return text.startswith("/") and not text.startswith("//") and "\n" not in text


def run(session: Session, text: str) -> None:
    """Do what `text` says and show the result. Raises RequestFailed."""
    word, _, rest = text[1:].strip().partition(" ")
    typed = {one.word: one for one in _typed()}.get(word) or _by_name(word)
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
    elif argument is not None and _required(argument) and not words:
        say(session.screen, ERROR, f"Say {typed.form}.")
    else:
        given = {} if argument is None else _value(session, argument, words)
        result = session.command(typed.command.name, **typed.given, **given)
        report.show(session.screen, typed.command.name, result if isinstance(result, Mapping) else {})


def _required(argument: Field[Any]) -> bool:
    return argument.default is MISSING and argument.name != "folder"


def _value(session: Session, argument: Field[Any], words: str) -> dict[str, object]:
    """The argument by its name: a number where it takes one. The daemon says what is wrong with anything else."""
    if argument.name == "folder":
        return {"folder": str(Path(words).expanduser().absolute() if words else session.folder)}
    if not words:
        return {}
    kinds = () if argument.type in (str, "str") else (int, float)
    return {argument.name: next((number for kind in kinds if (number := _number(kind, words)) is not None), words)}


def _number(kind: Callable[[str], float], words: str) -> float | None:
    try:
        return kind(words)
    except ValueError:
        return None
