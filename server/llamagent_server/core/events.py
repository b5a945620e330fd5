"""The closed union of trace events: one value for everything that happens in a turn (docs/PROTOCOL.md, Trace)."""

from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum, StrEnum
from functools import cache
from typing import Any, ClassVar, TypeAlias

from llamagent_server.core.messages import Json, Latency, ToolCall, Usage
from llamagent_server.core.proposals import Outcome


class Actor(StrEnum):
    USER = "user"
    MODEL = "model"
    HARNESS = "harness"
    TOOL = "tool"
    EDITOR = "editor"


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    REFUSE = "refuse"
    REPAIR = "repair"
    NUDGE = "nudge"
    STOP = "stop"
    COMPACT = "compact"


class CallForm(StrEnum):
    """How a call of the model's came, where it did not come as it should."""

    REPAIRED = "repaired"  # written as text, by another agent's names, with arguments of another type
    MALFORMED = "malformed"  # nothing could be made of it


class StopReason(StrEnum):
    ANSWERED = "answered"
    STEP_LIMIT = "step_limit"
    BUDGET = "budget"
    CANCELLED = "cancelled"
    REFUSED = "refused"
    ERROR = "error"  # only in `turn.ended`; such a turn's request is answered by a JSON-RPC error


class Channel(StrEnum):
    CONTENT = "content"
    THINKING = "thinking"


class Level(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """`usage` of a whole turn: sums over its requests. Seconds are wall time."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    requests: int = 0
    seconds: float = 0.0
    cached_prompt_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One category of what fills the context (`parts` of the gauge)."""

    name: str
    tokens: int


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of a proposal, with its counts of added and removed lines. `note`: what the person should know of it (a
    match that needed tolerance, a rewrite that drops much)."""

    uri: str
    added: int
    removed: int
    note: str | None = None


@dataclass(frozen=True, slots=True)
class TurnStarted:
    kind: ClassVar[str] = "turn.started"
    actor: ClassVar[Actor] = Actor.USER
    text: str
    model: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnSteered:
    """What the person said to the running turn; the model gets it before its next step."""

    kind: ClassVar[str] = "turn.steered"
    actor: ClassVar[Actor] = Actor.USER
    text: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelRequested:
    kind: ClassVar[str] = "model.requested"
    actor: ClassVar[Actor] = Actor.MODEL
    request_id: str
    model: str
    prompt_tokens_estimate: int
    attempt: int


@dataclass(frozen=True, slots=True)
class ModelDelta:
    kind: ClassVar[str] = "model.delta"
    actor: ClassVar[Actor] = Actor.MODEL
    channel: Channel
    text: str


@dataclass(frozen=True, slots=True)
class ModelReplied:
    kind: ClassVar[str] = "model.replied"
    actor: ClassVar[Actor] = Actor.MODEL
    request_id: str
    model: str
    content: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage
    latency: Latency
    finish_reason: str
    thinking: str | None = None


@dataclass(frozen=True, slots=True)
class HarnessDecided:
    kind: ClassVar[str] = "harness.decided"
    actor: ClassVar[Actor] = Actor.HARNESS
    decision: Decision
    reason: str
    call: str | None = None
    form: CallForm | None = None


@dataclass(frozen=True, slots=True)
class ToolStarted:
    kind: ClassVar[str] = "tool.started"
    actor: ClassVar[Actor] = Actor.TOOL
    call: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolReturned:
    kind: ClassVar[str] = "tool.returned"
    actor: ClassVar[Actor] = Actor.TOOL
    call: str
    name: str
    ok: bool
    content: str
    truncated: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class EditProposed:
    """`calls` are all that the proposal answers, `call` the first of them; likewise in EditResolved."""

    kind: ClassVar[str] = "edit.proposed"
    actor: ClassVar[Actor] = Actor.EDITOR
    call: str
    calls: tuple[str, ...]
    review_id: str
    files: tuple[ChangedFile, ...]
    diff: str


@dataclass(frozen=True, slots=True)
class EditResolved:
    kind: ClassVar[str] = "edit.resolved"
    actor: ClassVar[Actor] = Actor.EDITOR
    call: str
    calls: tuple[str, ...]
    review_id: str
    outcome: Outcome
    reason: str | None = None
    diff: str | None = None


@dataclass(frozen=True, slots=True)
class ContextGauge:
    kind: ClassVar[str] = "context.gauge"
    actor: ClassVar[Actor] = Actor.HARNESS
    tokens: int
    num_ctx: int
    estimated: bool
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class TurnEnded:
    kind: ClassVar[str] = "turn.ended"
    actor: ClassVar[Actor] = Actor.HARNESS
    stop_reason: StopReason
    answer: str
    steps: int
    usage: TurnUsage
    seconds: float
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    kind: ClassVar[str] = "notice"
    actor: ClassVar[Actor] = Actor.HARNESS
    level: Level
    text: str


EventBody: TypeAlias = (
    TurnStarted
    | TurnSteered
    | ModelRequested
    | ModelDelta
    | ModelReplied
    | HarnessDecided
    | ToolStarted
    | ToolReturned
    | EditProposed
    | EditResolved
    | ContextGauge
    | TurnEnded
    | Notice
)


@dataclass(frozen=True, slots=True)
class Event:
    """An event with its envelope. `seq` counts up by one in a session, deltas included; `step` is 0 before the first
    model request of the turn; `time` is aware and in UTC."""

    session: str
    turn: str
    seq: int
    step: int
    time: datetime
    body: EventBody

    def to_json(self) -> dict[str, Json]:
        """The event as it is sent and stored: camelCase keys, absent where None, times as ISO 8601 with `Z`."""
        envelope: dict[str, Json] = {
            "session": self.session,
            "turn": self.turn,
            "seq": self.seq,
            "step": self.step,
            "time": self.time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "actor": self.body.actor.value,
            "kind": self.body.kind,
        }
        return envelope | record(self.body)


def camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


def record(value: object) -> dict[str, Json]:
    """A dataclass as a JSON object: snake_case fields become camelCase keys. A field that is None is left out, but for
    one whose metadata say `nullable`."""
    kind: Any = type(value)
    if not is_dataclass(value):
        raise TypeError(f"not a dataclass: {value!r}")
    return {
        key: _plain(found)
        for name, key, nullable in _keys(kind)
        if (found := getattr(value, name)) is not None or nullable
    }


@cache
def _keys(kind: Any) -> tuple[tuple[str, str, bool], ...]:
    """Of each field of a dataclass its name, its key, and whether it is there when it is None."""
    return tuple((field_.name, camel(field_.name), bool(field_.metadata.get("nullable"))) for field_ in fields(kind))


def _plain(value: object) -> Json:
    match value:
        case ToolCall():
            return {"id": value.id, "name": value.name, "arguments": dict(value.arguments)}
        case Enum():
            return str(value.value)
        case None | bool() | int() | float() | str():
            return value
        case tuple() | list():
            return [_plain(item) for item in value]
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case _:
            return record(value)
