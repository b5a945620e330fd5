"""The arguments of the commands, and the shapes that they share, as frozen dataclasses (docs/PROTOCOL.md, Commands)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from llamagent_server.core.messages import Json

# --- Shared shapes -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Position:
    """Zero-based; `character` counts units of the negotiated position encoding."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Range:
    start: Position
    end: Position


# --- Arguments of the commands -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NoArguments:
    """The command takes none; an empty object, or nothing at all, is sent."""


@dataclass(frozen=True, slots=True)
class ContextItem:
    """Something that the person attached: a document (or a range of it), or `text` that has no document."""

    uri: str | None = None
    text: str | None = None
    language_id: str | None = None
    range: Range | None = None
    diagnostics: tuple[Mapping[str, Json], ...] = ()


@dataclass(frozen=True, slots=True)
class Ask:
    text: str
    session: str | None = None
    context: tuple[ContextItem, ...] = ()
    mode: Literal["agent", "read"] = "agent"
    detach: bool = False
    steer: bool = False


@dataclass(frozen=True, slots=True)
class AskAbout:
    """The person is asked for the text (`llamagent/input`)."""

    context: tuple[ContextItem, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionArguments:
    """Without `session` the connection's current conversation is meant."""

    session: str | None = None


@dataclass(frozen=True, slots=True)
class LoadSkill:
    name: str
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """Without `turn` the last one is meant. `undo`: the way back from its edits is proposed first."""

    session: str | None = None
    turn: str | None = None
    text: str | None = None
    undo: bool = False


@dataclass(frozen=True, slots=True)
class PullModel:
    name: str


@dataclass(frozen=True, slots=True)
class SetModel:
    value: str


@dataclass(frozen=True, slots=True)
class SetTemperature:
    value: float


@dataclass(frozen=True, slots=True)
class SetNumCtx:
    """`value` in tokens."""

    value: int


@dataclass(frozen=True, slots=True)
class Allow:
    """Without `prefix` only the list is answered."""

    prefix: str | None = None
    revoke: bool = False


@dataclass(frozen=True, slots=True)
class Resume:
    """`ref`: 1 = newest, or an id; without it, the newest that is not the current one."""

    ref: int | str | None = None


@dataclass(frozen=True, slots=True)
class StoredSession:
    """`ref`: 1 = newest, or an id."""

    ref: int | str


@dataclass(frozen=True, slots=True)
class TraceSince:
    """Events after the sequence number `since`; without it, all."""

    session: str | None = None
    since: int | None = None


@dataclass(frozen=True, slots=True)
class TurnArguments:
    session: str | None = None
    turn: str | None = None


@dataclass(frozen=True, slots=True)
class Export:
    session: str | None = None
    format: Literal["markdown", "json"] = "markdown"


@dataclass(frozen=True, slots=True)
class Trust:
    folder: str
    trusted: bool


@dataclass(frozen=True, slots=True)
class Complete:
    """`offset` counts units of the negotiated position encoding from the beginning of `text`."""

    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class Unqueue:
    id: str
