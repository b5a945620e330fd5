"""What the commands answer: frozen values whose `core.events.record` is the result of docs/PROTOCOL.md."""

from dataclasses import dataclass, field

from llamagent_server.core.events import Part, StopReason, TurnUsage
from llamagent_server.core.messages import Json


@dataclass(frozen=True, slots=True)
class TurnResult:
    answer: str
    session: str
    turn: str
    stop_reason: StopReason
    steps: int
    usage: TurnUsage


@dataclass(frozen=True, slots=True)
class Started:
    """The answer to a detached ask."""

    session: str
    turn: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    cancelled: bool


@dataclass(frozen=True, slots=True)
class Compacted:
    summary: str
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class SkillLoaded:
    name: str
    description: str
    tokens: int


@dataclass(frozen=True, slots=True)
class SkillInfo:
    name: str
    description: str
    source: str


@dataclass(frozen=True, slots=True)
class Skills:
    skills: tuple[SkillInfo, ...]


@dataclass(frozen=True, slots=True)
class Fresh:
    session: str


@dataclass(frozen=True, slots=True)
class ContextReport:
    """`measured` is what the server counted of its last prompt of this conversation, None where it did not yet."""

    tokens: int
    num_ctx: int
    estimated: bool
    parts: tuple[Part, ...]
    measured: int | None = None


@dataclass(frozen=True, slots=True)
class SettingInfo:
    key: str
    value: Json = field(metadata={"nullable": True})
    source: str
    workspace_may_set: bool


@dataclass(frozen=True, slots=True)
class ConfigReport:
    settings: tuple[SettingInfo, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelRow:
    name: str
    current: bool
    size: int | None = None
    capabilities: tuple[str, ...] | None = None
    context_length: int | None = None


@dataclass(frozen=True, slots=True)
class ProposedModel:
    """What suits this machine's memory. `size` is the download in bytes, about; `present`: the server has it."""

    name: str
    size: int
    present: bool


@dataclass(frozen=True, slots=True)
class Models:
    models: tuple[ModelRow, ...]
    proposed: ProposedModel | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """`value` and `previous` of a setting changed for the session; `note` is what the person should know of it."""

    value: Json = field(metadata={"nullable": True})
    previous: Json = field(metadata={"nullable": True})
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Allowed:
    allowed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionRow:
    """`updated` is UTC, ISO 8601; `messages` counts the person's and the model's messages."""

    id: str
    title: str
    updated: str
    model: str
    messages: int
    current: bool
    damaged: bool | None = None


@dataclass(frozen=True, slots=True)
class Sessions:
    sessions: tuple[SessionRow, ...]


@dataclass(frozen=True, slots=True)
class SessionRef:
    session: str
    title: str
    messages: int


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """`aside`: the turns that a retry took out of the conversation."""

    events: tuple[dict[str, Json], ...]
    aside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Undone:
    """`proposed` are the URIs of the files in the proposal; `outcome` is what became of it, or "nothing"."""

    proposed: tuple[str, ...]
    outcome: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Exported:
    text: str


@dataclass(frozen=True, slots=True)
class Initialized:
    """Paths below the workspace's first folder; `skipped` were there before."""

    created: tuple[str, ...]
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelPulled:
    name: str


@dataclass(frozen=True, slots=True)
class TrustReport:
    folder: str
    trusted: bool


@dataclass(frozen=True, slots=True)
class Completion:
    """One choice: `insert_text` takes the place of the prompt from `start` to `end`."""

    label: str
    insert_text: str
    start: int
    end: int
    detail: str
    kind: str


@dataclass(frozen=True, slots=True)
class Completions:
    items: tuple[Completion, ...]
