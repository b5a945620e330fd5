"""What the agent needs from outside, as protocols. The edges implement them; this room imports none of those."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeAlias

from llamagent_server.core.events import Channel, Event, EventBody
from llamagent_server.core.messages import Json, JsonObject, Message, Reply, ToolSpec
from llamagent_server.core.proposals import FileChange, Proposal, Replaced
from llamagent_server.errors import ModelError

# --- Model ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Sent the same in every request of a session: a change would make the server load the model again.

    `num_predict` is the room reserved for a reply, in tokens. `think` is False, True or an effort word.
    """

    num_ctx: int
    num_predict: int
    temperature: float
    think: bool | str = False
    keep_alive: str = "10m"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request. With `schema` (a JSON schema for the whole reply) no tools are sent."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    options: ChatOptions
    schema: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the reply as it arrives, for the person to watch; the whole text comes again in the Reply."""

    channel: Channel
    text: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The request failed. `content` is what had arrived before."""

    error: ModelError
    content: str = ""


ModelEvent: TypeAlias = Delta | Reply | Failure


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What the server says of a model (`capabilities` None: it does not say). Sizes in bytes, lengths in tokens.

    `context_length` is what the model was trained for; `loaded_context` what it is loaded with now, where known.
    """

    name: str
    capabilities: frozenset[str] | None = None
    context_length: int | None = None
    loaded_context: int | None = None
    size: int | None = None
    remote_host: str | None = None


Tell: TypeAlias = Callable[[str, int | None], None]  # words, and per cent where they are known


def untold(_words: str, _percent: int | None) -> None:
    """Nobody watches."""


class Model(Protocol):
    """A model server. Methods other than `chat` raise `ModelError`."""

    provider: str
    url: str

    def chat(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        """Stream a reply: any number of Deltas, then exactly one Reply or Failure.

        Must not raise, but for CancelledError: when the consuming task is cancelled or the iterator is closed, the
        connection is shut down at once, so that the server stops generating.
        """
        ...

    async def describe(self, model: str) -> ModelInfo: ...

    async def list_models(self) -> Sequence[ModelInfo]: ...

    async def identity(self, model: str) -> str:
        """Changes when the model or its server does; empty where these do not say. Never raises ModelError."""
        ...

    async def prepare(self, consent: Callable[[str], Awaitable[bool]], tell: Tell = untold) -> None:
        """Get what is needed before a first request. What must be fetched is fetched only after `consent` said yes to
        words that name what, how large and from where; `tell` hears how far it is, from any thread."""
        ...

    async def close(self) -> None:
        """Give up whatever is held open (connections, an engine in this process)."""
        ...


# --- Tools ---------------------------------------------------------------------------------------------------------


class ToolKind(StrEnum):
    READ = "read"  # looks only
    EDIT = "edit"  # gives a Proposal, which the person reviews
    COMMAND = "command"  # runs only after consent


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model is told. `truncated`: more was there than is shown. `wants_network`: a command failed, as it seems
    for want of a network that the person could give it."""

    ok: bool
    content: str
    truncated: bool = False
    wants_network: bool = False


@dataclass(frozen=True, slots=True)
class ToolContext:
    """`max_chars`: how long the result may be, from the room that is left in the context; `chars` says how much of a
    text takes so many tokens.

    `network`: whether the person said yes to network access (commands only). `pending` are edits of the same reply that
    the person has not seen yet, one for each file: a tool that edits goes on from their texts.
    """

    call_id: str
    max_chars: int
    network: bool = False
    pending: tuple[FileChange, ...] = ()
    chars: Callable[[str, int], int] | None = None


class Tool(Protocol):
    @property
    def spec(self) -> ToolSpec: ...

    @property
    def kind(self) -> ToolKind: ...

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolResult | Proposal:
        """Do it, or (kind EDIT) say what would be done. `arguments` were validated against the spec.

        An expected failure is a ToolResult with ok=False that says what to do instead; must not raise but for
        CancelledError, on which everything that was started is stopped.
        """
        ...


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """How a command would run now. `refusal`: why none may (empty: it may). `notice`: what the person should know of
    it, given once."""

    sandboxed: bool
    refusal: str = ""
    notice: str = ""


# --- Editor --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """`applied` is what the editor said; `now` are the texts that are really there afterwards, in the order of the
    proposal's changes (None = no such file). `base` are the texts that the edit was finally computed against, which
    differ from the proposal's `before` when the buffer moved meanwhile and the edit was rebased; likewise `expected`.
    `failures` says, by the URI of a change, why it could not be made: the person did not say no to that one.
    """

    applied: bool
    reason: str | None
    base: tuple[str | None, ...]
    expected: tuple[str | None, ...]
    now: tuple[str | None, ...]
    stop: bool = False
    failures: Mapping[str, str] = field(default_factory=dict)


class ConsentDecision(StrEnum):
    RUN = "run"
    RUN_WITH_NETWORK = "run_with_network"
    ALWAYS = "always"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Consent:
    """`stop`: the person refused and wants the turn to end here."""

    decision: ConsentDecision
    reason: str | None = None
    stop: bool = False


@dataclass(frozen=True, slots=True)
class SaveReport:
    """Which documents with accepted edits were saved, and which still are not on disk (workspace paths)."""

    saved: tuple[str, ...] = ()
    unsaved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """An error or a warning that the editor shows. `line` counts from 1; `severity` is `error` or `warning`; `text` is
    one line."""

    line: int
    severity: str
    text: str


class Editor(Protocol):
    """The person's editor. No answer of any kind is a yes; none of these raises but for CancelledError, which also
    takes the question down in the editor."""

    @property
    def removes_files(self) -> bool:
        """Whether a proposal may remove a file."""
        ...

    async def review(self, review_id: str, proposal: Proposal) -> ReviewAnswer: ...

    async def consent(self, call_id: str, command: str) -> Consent: ...

    async def save_edited(self) -> SaveReport:
        """Ask for a save of the documents whose accepted edits are not on disk, before a command runs."""
        ...

    async def problems(self, uris: Sequence[str]) -> Mapping[str, Sequence[Problem]]:
        """What the editor shows in these documents now; no entry for those of which it says nothing."""
        ...

    def notify(self, text: str, *, important: bool) -> None:
        """Tell the person; for clients without a trace. Never waits."""
        ...


# --- Workspace, as far as the loop is concerned --------------------------------------------------------------------


class Workspace(Protocol):
    @property
    def generation(self) -> int:
        """Counts up with every change to an open buffer: an earlier result may be stale once it moved."""

    @property
    def no_commands(self) -> str | None:
        """Why no command can run here, None where one can."""

    @property
    def command_folder(self) -> object:
        """Where commands run; only for comparing."""

    def describe(self) -> str:
        """One short paragraph for the first message of a conversation: the folders, by name."""


# --- Trace and journal ---------------------------------------------------------------------------------------------

Emit: TypeAlias = Callable[[EventBody], None]
Clock: TypeAlias = Callable[[], datetime]
NewId: TypeAlias = Callable[[str], str]  # NewId("turn") -> "turn-…", unique


class Journal(Protocol):
    """The stored truth of one conversation: records are appended and never changed. Never raises: when the disk is full
    or read-only, `problem` says so and the conversation goes on in memory."""

    @property
    def session(self) -> str: ...

    @property
    def problem(self) -> str | None: ...

    def append(self, record: dict[str, Json]) -> None:
        """Hand one record to the operating system, whole."""
        ...

    def sync(self) -> None:
        """fsync: at the end of a turn."""
        ...

    def close(self) -> None:
        """Nothing more is written from here: others may go on with the conversation."""
        ...


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored conversation, opened to be gone on with. `problem` says what was damaged, in words for the person."""

    journal: Journal
    records: Sequence[JsonObject]
    title: str = ""
    problem: str | None = None


class Store(Protocol):
    """The stored conversations of a workspace."""

    def create(self, header: Callable[[str], dict[str, Json]]) -> Journal:
        """The journal of a new conversation. Its first line is `header` of its id; nothing is on disk before the first
        record after that."""
        ...

    def open(self, session: str) -> Stored:
        """Raises UnknownSession."""
        ...


class Checkpoints(Protocol):
    """What accepted edits replaced, so that it can be undone. Never raises."""

    async def remember(self, session: str, turn: str, replaced: Sequence[Replaced]) -> str | None:
        """Keep it; what the person should know of it (kept no longer, not kept) is returned."""

    async def turns(self, session: str) -> Sequence[str]:
        """The turns that changed something and were not undone, in their order."""

    async def of(self, session: str, turns: Sequence[str]) -> Sequence[Replaced] | None:
        """What these turns replaced, in that order; None where a text of it is not kept any more."""

    async def undone(self, session: str, turns: Sequence[str], paths: Sequence[str]) -> None:
        """Note that these turns were undone, which changed the files at `paths`."""

    async def ways_back(self, session: str) -> Sequence[tuple[Sequence[str], Sequence[str]]]:
        """What `undone` has noted: the turns and the paths, each time."""


TraceListener: TypeAlias = Callable[[Event], None]
