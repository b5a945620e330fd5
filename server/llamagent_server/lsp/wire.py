"""Our part of the wire as frozen dataclasses, and the two tables that list it: COMMANDS and METHODS (docs/PROTOCOL.md).

Field names are snake_case here and camelCase on the wire. A field with a default may be left out, or be null. Objects
become JSON with `core.events.record`, and are read back with `parse`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from llamagent_server.agent import results
from llamagent_server.core.messages import Json
from llamagent_server.lsp.greeting import PREFIX, PROTOCOL_VERSION, SERVED, Flags, InitializationOptions
from llamagent_server.lsp.strict import parse, parse_known
from llamagent_server.lsp.wire_arguments import (
    Allow,
    Ask,
    AskAbout,
    Complete,
    ContextItem,
    Export,
    LoadSkill,
    NoArguments,
    Position,
    PullModel,
    Range,
    Resume,
    Retry,
    SessionArguments,
    SetModel,
    SetNumCtx,
    SetTemperature,
    StoredSession,
    TraceSince,
    Trust,
    TurnArguments,
    Unqueue,
)
from llamagent_server.lsp.wire_slash import WORDS

__all__ = [
    "COMMANDS",
    "METHODS",
    "PREFIX",
    "PROTOCOL_VERSION",
    "Allow",
    "Ask",
    "AskAbout",
    "Command",
    "Complete",
    "ContextItem",
    "Export",
    "Flags",
    "InitializationOptions",
    "LoadSkill",
    "Method",
    "NoArguments",
    "Position",
    "PullModel",
    "Range",
    "Resume",
    "Retry",
    "SessionArguments",
    "SetModel",
    "SetNumCtx",
    "SetTemperature",
    "StoredSession",
    "TraceSince",
    "Trust",
    "TurnArguments",
    "Unqueue",
    "parse",
    "parse_known",
]

PROMPT_URI = "llamagent://prompt"


# --- Our own messages ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueuedAsk:
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Queued:
    session: str
    queue: tuple[QueuedAsk, ...]


@dataclass(frozen=True, slots=True)
class ReviewClosed:
    review_id: str


@dataclass(frozen=True, slots=True)
class ConsentQuestion:
    """`cwd` is a path; `network`: whether the command could reach the network."""

    call: str
    command: str
    cwd: str
    sandboxed: bool
    network: bool


@dataclass(frozen=True, slots=True)
class ConsentReply:
    """`stop`, with a refusal: the turn ends here. `network`, with `run`: this once with network, where the question
    said that there is none."""

    decision: Literal["run", "always", "refuse"]
    reason: str | None = None
    stop: bool = False
    network: bool = False


@dataclass(frozen=True, slots=True)
class Uris:
    uris: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SaveReply:
    saved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DiagnosticsReply:
    """For each URI the LSP diagnostics that the editor shows there."""

    diagnostics: Mapping[str, tuple[Mapping[str, Json], ...]]


@dataclass(frozen=True, slots=True)
class InputQuestion:
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class InputReply:
    """`text` is None when the person gave none."""

    text: str | None = None


# --- The tables ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Command:
    """One command of `workspace/executeCommand`. `result` is the dataclass whose record is the answer (None where it is
    not built yet); only what is `served` is advertised."""

    name: str
    title: str
    help: str
    arguments: type
    result: type | None

    @property
    def id(self) -> str:
        return PREFIX + self.name

    @property
    def slash(self) -> str:
        """How it is typed in a prompt, with a hint at its argument; empty where it is not."""
        return next((row.form for row in WORDS if row.command == self.name), "")

    @property
    def served(self) -> bool:
        return self.name in SERVED


COMMANDS: tuple[Command, ...] = (
    Command("ask", "Ask", "Ask the model to answer or to do something.", Ask, results.TurnResult),
    Command("cancel", "Cancel", "Stop the running turn.", SessionArguments, results.Cancelled),
    Command(
        "compact", "Compact", "Sum up the conversation to make room for more.", SessionArguments, results.Compacted
    ),
    Command("load_skill", "Load a skill", "Give the model a skill's text.", LoadSkill, results.SkillLoaded),
    Command("skills", "Skills", "List the skills.", NoArguments, results.Skills),
    Command(
        "new", "New conversation", "Begin a conversation; the current one stays stored.", NoArguments, results.Fresh
    ),
    Command("clear", "Clear", "Forget the current conversation and begin another.", NoArguments, results.Fresh),
    Command("retry", "Retry", "Do a turn again, or with other words.", Retry, results.TurnResult),
    Command("context", "Context", "Show what fills the context window.", SessionArguments, results.ContextReport),
    Command("config", "Settings", "Show the settings and where each comes from.", NoArguments, results.ConfigReport),
    Command("init", "Set up the project", "Create the project's llamagent files.", NoArguments, results.Initialized),
    Command("models", "Models", "List the models that the server has.", NoArguments, results.Models),
    Command("pull_model", "Pull a model", "Download a model.", PullModel, results.ModelPulled),
    Command("set_model", "Choose the model", "Use another model from now on.", SetModel, results.Changed),
    Command("set_temperature", "Set the temperature", "From 0 to 2.", SetTemperature, results.Changed),
    Command("set_num_ctx", "Set the context length", "In tokens.", SetNumCtx, results.Changed),
    Command("allow", "Allow a command", "Run commands that begin so without asking.", Allow, results.Allowed),
    Command("sessions", "Conversations", "List the stored conversations.", NoArguments, results.Sessions),
    Command("resume", "Resume", "Go on with a stored conversation.", Resume, results.SessionRef),
    Command(
        "delete_session", "Delete a conversation", "Delete a stored conversation.", StoredSession, results.SessionRef
    ),
    Command("trace", "Trace", "Show the stored events of a conversation.", TraceSince, results.StoredTrace),
    Command("undo_turn", "Undo a turn", "Propose to undo what a turn changed.", TurnArguments, results.Undone),
    Command("export", "Export", "Give the conversation as text.", Export, results.Exported),
    Command("trust", "Trust", "Trust a folder, or stop trusting it.", Trust, results.TrustReport),
    Command("complete", "Complete", "Complete the words of a prompt.", Complete, results.Completions),
    Command("help", "Help", "List the commands.", NoArguments, None),
    Command("unqueue", "Take back", "Take back an ask that waits for its turn.", Unqueue, results.Cancelled),
    Command("ask_about", "Ask about", "Ask about a place, in words that you are asked for.", AskAbout, results.Started),
)


class Direction(StrEnum):
    TO_CLIENT = "to client"
    TO_SERVER = "to server"


@dataclass(frozen=True, slots=True)
class Method:
    """One message that LSP does not have. A request has a `result`; `flag` is the client flag without which it is never
    sent. `params` None: a trace event, whose JSON is `core.events.Event.to_json`."""

    name: str
    direction: Direction
    params: type | None
    result: type | None = None
    flag: str | None = None


TRACE = "llamagent/trace"
QUEUED = "llamagent/queued"
REVIEW_CLOSED = "llamagent/reviewClosed"
CONSENT = "llamagent/consent"
SAVE = "llamagent/save"
DIAGNOSTICS = "llamagent/diagnostics"
INPUT = "llamagent/input"

METHODS: tuple[Method, ...] = (
    Method(TRACE, Direction.TO_CLIENT, None, flag="trace"),
    Method(QUEUED, Direction.TO_CLIENT, Queued),
    Method(REVIEW_CLOSED, Direction.TO_CLIENT, ReviewClosed),
    Method(CONSENT, Direction.TO_CLIENT, ConsentQuestion, ConsentReply, flag="consent"),
    Method(SAVE, Direction.TO_CLIENT, Uris, SaveReply, flag="save"),
    Method(DIAGNOSTICS, Direction.TO_CLIENT, Uris, DiagnosticsReply, flag="diagnostics"),
    Method(INPUT, Direction.TO_CLIENT, InputQuestion, InputReply, flag="prompt"),
)


def prompt_words() -> tuple[tuple[str, str], ...]:
    """What can be typed as `/word` in a prompt, with its help."""
    helps = {command.name: command.help for command in COMMANDS if command.served}
    return tuple((row.word, row.help or helps[row.command]) for row in WORDS if row.command in helps)
