"""What one setting may hold: its type, its bounds, its form, and the words that say so."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath, PureWindowsPath
from typing import TypeAlias
from urllib.parse import urlsplit

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | None


class Type(StrEnum):
    TEXT = "text"
    WHOLE = "whole number"
    NUMBER = "number"
    SWITCH = "switch"
    LIST = "list of texts"


class File(StrEnum):
    """The two files of a level. The terminal agent reads config.toml too, and exits on a key that it does not know."""

    CONFIG = "config.toml"
    SERVER = "server.toml"


class NotAllowed(ValueError):
    """A value that a setting cannot have. Its text never quotes the value: it might be a key pasted by mistake."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table. `choices` are the only words allowed (beside the switch's true and false); `minimum` and
    `maximum` are in `unit`; `allows`: a new value in a trusted workspace counts only once its person saw it; `form`
    checks and normalises a text, and raises NotAllowed; `counts` says whether an item of a list could ever have an
    effect; `allowed` says it in words."""

    key: str
    title: str
    help: str
    type: Type = Type.TEXT
    file: File = File.SERVER
    workspace_may_set: bool = True
    allows: bool = False
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    unit: str = ""
    form: Callable[[str], str] | None = None
    counts: Callable[[str], bool] | None = None
    wording: str = ""

    @property
    def allowed(self) -> str:
        """What the key may hold, in words that end a sentence: "a number from 0 to 2"."""
        if self.wording:
            return self.wording
        if self.type in (Type.WHOLE, Type.NUMBER):
            return f"a {self.type}{self._range()}{f' {self.unit}' if self.unit else ''}"
        switch = ("true", "false") if self.type is Type.SWITCH else ()
        words = (*switch, *(f'"{choice}"' for choice in self.choices))
        return f"{', '.join(words[:-1])} or {words[-1]}" if words else "a text in quotes"

    def _range(self) -> str:
        low = "" if self.minimum is None else f"{self.minimum:.15g}"
        if self.maximum is not None:
            return f" from {low} to {self.maximum:.15g}"
        return f", {low} or more" if low else ""

    def parse(self, value: object) -> Value:
        """`value` (from TOML, JSON or an environment variable) as this setting's. Raises NotAllowed."""
        match self.type:
            case Type.SWITCH if isinstance(value, bool):
                return value
            case Type.WHOLE | Type.NUMBER:
                return self._number(value)
            case Type.LIST:
                return self._list(value)
            case Type.TEXT if isinstance(value, str):
                return self._text(value.strip())
            case Type.SWITCH if value in self.choices:
                return str(value)
            case _:
                raise NotAllowed(self.allowed)

    def _number(self, value: object) -> int | float:
        # true is no number, although Python thinks so; 8192.0 is one way in which editors write 8192.
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise NotAllowed(self.allowed)
        whole = isinstance(value, int) or value.is_integer()
        if self.type is Type.WHOLE and not whole:
            raise NotAllowed(self.allowed)
        low = -math.inf if self.minimum is None else self.minimum
        high = math.inf if self.maximum is None else self.maximum
        # Comparing comes before converting: an integer may be too large for a float. NaN is in no range.
        if not low <= value <= high or value in (math.inf, -math.inf):
            raise NotAllowed(self.allowed)
        return int(value) if self.type is Type.WHOLE else float(value)

    def _list(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            raise NotAllowed(self.allowed)
        words = [item.strip() if isinstance(item, str) else "" for item in value]
        if not all(words):
            raise NotAllowed(self.allowed)
        return tuple(words)

    def _text(self, value: str) -> Value:
        if self.choices and value not in self.choices:
            raise NotAllowed(self.allowed)
        return self.form(value) if self.form is not None else value


PROGRAM_WORDS = 'the full path of a program, such as "/usr/bin/rg"'
MODEL_WORDS = 'a name in quotes, such as "qwen3.5:4b"'
URL_WORDS = 'an address that begins with http:// or https://, such as "http://localhost:11434"'
DURATION_WORDS = 'a duration such as "10m", "1h30m", "0" (unload at once) or "-1m" (keep loaded)'
VARIABLE_WORDS = "the name of an environment variable that holds the key (letters, digits, _), never the key itself"


# Plain words need no shell parser: whatever a shell could read as more than a word is not in this alphabet.
PLAIN = re.compile(r"[A-Za-z0-9_./:,@%+=\- ]+")
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def can_be_allowed(prefix: str) -> bool:
    """Whether any command that begins with `prefix` could ever run without asking."""
    words = prefix.split()
    return PLAIN.fullmatch(" ".join(words)) is not None and not ASSIGNMENT.match(words[0])


def one_line(text: str) -> str:
    if not text or not text.isprintable():
        raise NotAllowed(MODEL_WORDS)
    return text


def program_path(text: str) -> str:
    if text and not (PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute()):
        raise NotAllowed(PROGRAM_WORDS)
    return text


def web_address(text: str) -> str:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port or a bracket that cannot be
        usable = False
    if not usable or not text.isprintable() or " " in text or parts.query or parts.fragment:
        raise NotAllowed(URL_WORDS)
    return text.rstrip("/")


def duration(text: str) -> str:
    if text != "0" and not re.fullmatch(r"-?(\d+(\.\d+)?(h|m|s|ms))+", text, re.ASCII):
        raise NotAllowed(DURATION_WORDS)
    return text


def variable_name(text: str) -> str:
    if text and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise NotAllowed(VARIABLE_WORDS)
    return text
