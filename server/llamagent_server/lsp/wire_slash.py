"""The commands as they are typed in a prompt, such as `/model NAME`: the one table of their words, and how to read one.

A text is a command when it is one line of a slash, one word, and perhaps more after a space. A path is none
(`/etc/hosts is ...`, `/usr`), and neither is what begins with a space or with two slashes.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from llamagent_server.core.messages import Json

_FORM = re.compile(r"/(?P<word>[A-Za-z]\w*)(?:[ \t]+(?P<rest>\S[^\n]*?))?\s*", re.ASCII)
# The folders that systems have at their root: a prompt that begins with one is about it.
_ROOTS = frozenset(
    "bin boot dev etc home lib lib64 media mnt nix opt proc root run sbin srv sys tmp usr var "
    "Applications Library System Users Volumes cores private".split()
)
_NEAR = 0.6


@dataclass(frozen=True, slots=True)
class Word:
    """One word that can be typed. `argument` is what the words after it are, `hint` how these are shown (in brackets
    where they may be missing), `given` what the word itself says.
    `setting`: the one whose value is then shown instead. `kinds` are tried on the words, in turn, before a text is.
    `help` says what the word does, where the command's own help is for more than that."""

    word: str
    command: str
    hint: str = ""
    argument: str | None = None
    kinds: tuple[type[int] | type[float], ...] = ()
    given: Mapping[str, Json] = field(default_factory=dict)
    setting: str | None = None
    help: str | None = None

    @property
    def form(self) -> str:
        """How it is typed, such as `/skill NAME`."""
        return f"/{self.word} {self.hint}".rstrip()

    @property
    def choices(self) -> tuple[str, ...]:
        """The only words that may stand after it; none where others may."""
        return tuple(self.hint.strip("[]").split("|")) if "|" in self.hint else ()

    @property
    def needs_more(self) -> bool:
        return bool(self.hint) and not self.hint.startswith("[")


WORDS: tuple[Word, ...] = (
    Word("help", "help"),
    Word("new", "new"),
    Word("clear", "clear"),
    Word("compact", "compact"),
    Word("context", "context"),
    Word("retry", "retry", "[OTHER WORDS]", "text"),
    Word("undo", "undo_turn"),
    Word("cancel", "cancel"),
    Word("sessions", "sessions"),
    Word("resume", "resume", "[NUMBER]", "ref", (int,)),
    Word("delete", "delete_session", "NUMBER", "ref", (int,)),
    Word("export", "export", "[markdown|json]", "format"),
    Word("skills", "skills"),
    Word("skill", "load_skill", "NAME", "name"),
    Word("models", "models"),
    Word("model", "set_model", "[NAME]", "value", setting="model"),
    Word("pull", "pull_model", "NAME", "name"),
    Word("temp", "set_temperature", "[0-2]", "value", (int, float), setting="temperature", help="Set the temperature."),
    Word("ctx", "set_num_ctx", "[TOKENS]", "value", (int,), setting="num_ctx", help="Set the context length."),
    Word("config", "config"),
    Word("init", "init"),
    Word("allow", "allow", "[COMMAND]", "prefix"),
    Word("disallow", "allow", "COMMAND", "prefix", given={"revoke": True}, help="Ask again before such commands."),
    Word("trust", "trust", "[FOLDER]", "folder", given={"trusted": True}, help="Trust a folder (this one)."),
    Word("untrust", "trust", "[FOLDER]", "folder", given={"trusted": False}, help="Stop trusting a folder (this one)."),
)
_BY_WORD = {row.word: row for row in WORDS}
# Other names: those of the commands, and words of old.
_ALSO = {row.command: row for row in reversed(WORDS) if row.command not in _BY_WORD} | {
    "temperature": _BY_WORD["temp"],
    "num_ctx": _BY_WORD["ctx"],
    "settings": _BY_WORD["config"],
    "stop": _BY_WORD["cancel"],
}


@dataclass(frozen=True, slots=True)
class Typed:
    """A command that was typed: its row, and the words after it."""

    row: Word
    rest: str

    @property
    def arguments(self) -> dict[str, Json]:
        """Those of the command. What is wrong with a value is the command's to say."""
        if not self.rest or self.row.argument is None:
            return dict(self.row.given)
        return {self.row.argument: _value(self.rest, self.row.kinds), **self.row.given}

    @property
    def problem(self) -> str | None:
        """What is wrong with how it was typed."""
        if self.rest and self.row.argument is None:
            return f"/{self.row.word} takes nothing after it."
        if not self.rest and self.row.needs_more:
            return f"Say {self.row.form}."
        if self.rest and self.row.choices and self.rest not in self.row.choices:
            return f"/{self.row.word} takes one of these: {', '.join(self.row.choices)}."
        if self.row.setting and self.row.kinds and isinstance(self.arguments.get("value"), str):
            if float in self.row.kinds:
                return f"/{self.row.word} takes a number."
            return f"/{self.row.word} takes a whole number."
        return None


@dataclass(frozen=True, slots=True)
class Mistyped:
    """What looks like a command and is none."""

    word: str
    nearest: str | None

    @property
    def message(self) -> str:
        return f"There is no command /{self.word}."

    @property
    def hint(self) -> str:
        if self.nearest is not None:
            return f"Did you mean /{self.nearest}? To send the words as they are, put a space before them."
        return "/help lists the commands. To send the words as they are, put a space before them."


def read(text: str) -> Typed | Mistyped | None:
    """The command that `text` is, None where it is words for the model."""
    if text.rstrip() == "/":
        return Mistyped("", None)
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    word, rest = found["word"], found["rest"] or ""
    row = _BY_WORD.get(word) or _ALSO.get(word) or _BY_WORD.get(word.lower())
    if row is not None:
        return Typed(row, rest)
    if word in _ROOTS:
        return None
    near = difflib.get_close_matches(word.lower(), [*_BY_WORD, *_ALSO], n=1, cutoff=_NEAR)
    return Mistyped(word, near[0] if near else None)


def _value(words: str, kinds: tuple[type[int] | type[float], ...]) -> Json:
    """A number may have a decimal comma."""
    for kind in kinds:
        try:
            return kind(words.replace(",", ".") if kind is float else words)
        except ValueError:
            continue
    return words
