"""Doubles that obey the agent's ports: a scripted model, an editor that answers as told, tools over a dict of texts."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count

from llamagent_server.agent.conversations import Conversation, Conversations
from llamagent_server.agent.patience import NOTICE_SECONDS
from llamagent_server.agent.ports import (
    ChatRequest,
    Consent,
    ConsentDecision,
    Delta,
    Failure,
    ModelEvent,
    ModelInfo,
    Problem,
    ReviewAnswer,
    SaveReport,
    Stored,
    ToolContext,
    ToolKind,
    ToolResult,
)
from llamagent_server.agent.session import Ports
from llamagent_server.agent.turn import Ask
from llamagent_server.agent.turns import Turn
from llamagent_server.core import edits
from llamagent_server.core.events import Channel, Event
from llamagent_server.core.messages import Finish, Json, JsonObject, Latency, Reply, ToolCall, ToolSpec, Usage
from llamagent_server.core.policy import Mode
from llamagent_server.core.proposals import FileChange, Proposal, Replaced
from llamagent_server.errors import ModelError, UnknownSession
from llamagent_server.settings import Settings

_ids = count(1)


def call(name: str, /, **arguments: Json) -> ToolCall:
    return ToolCall(f"call_{next(_ids)}", name, arguments)


def reply(
    content: str = "",
    *calls: ToolCall,
    thinking: str = "",
    finish: Finish | None = None,
    prompt_tokens: int | None = None,
    completion_tokens: int | None = 10,
) -> Reply:
    finish = finish or (Finish.TOOL_CALLS if calls else Finish.STOP)
    usage = Usage(prompt_tokens, completion_tokens, seconds=0.01)
    return Reply(content, thinking, tuple(calls), finish, usage, Latency(0.001, 0.01))


def fails(error: ModelError) -> Failure:
    return Failure(error)


class Hang:
    """A reply that streams `text` and then never ends; `started` is set once it has streamed."""

    def __init__(self, text: str = "thinking about it") -> None:
        self.text = text
        self.started = asyncio.Event()
        self.closed = False


class Late:
    """A reply that does not begin before `speak` is set."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.speak = asyncio.Event()


Scripted = Reply | Failure | Hang | Late | Callable[[ChatRequest], Reply | Failure]


class ScriptedModel:
    """Plays `script`, one entry a request, and keeps the requests."""

    provider = "scripted"
    url = "test://model"

    def __init__(self, script: Iterable[Scripted], info: ModelInfo | ModelError | None = None) -> None:
        self.script = list(script)
        self.requests: list[ChatRequest] = []
        self.identified = "digest 1"
        self.info = info or ModelInfo("m", capabilities=frozenset({"completion", "tools"}))

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        self.requests.append(request)
        assert self.script, "the model was asked more often than the script has replies"
        entry = self.script.pop(0)
        if isinstance(entry, Hang):
            yield Delta(Channel.CONTENT, entry.text)
            entry.started.set()
            try:
                await asyncio.Event().wait()
            finally:
                entry.closed = True
        elif isinstance(entry, Late):
            await entry.speak.wait()
            yield Delta(Channel.CONTENT, entry.text)
            yield reply(entry.text)
        elif isinstance(entry, Reply | Failure):
            if isinstance(entry, Reply) and entry.content:
                yield Delta(Channel.CONTENT, entry.content)
            yield entry
        else:
            yield entry(request)

    async def describe(self, model: str) -> ModelInfo:  # noqa: ARG002
        if isinstance(self.info, ModelError):
            raise self.info
        return self.info

    async def list_models(self) -> Sequence[ModelInfo]:
        return ()

    async def identity(self, model: str) -> str:  # noqa: ARG002
        return self.identified

    async def prepare(self, consent: Callable[[str], Awaitable[bool]]) -> None:  # noqa: ARG002
        return None

    async def close(self) -> None:
        return None


Reviewer = Callable[[Proposal, "Project"], ReviewAnswer | Awaitable[ReviewAnswer]]


@dataclass
class Project:
    """The texts of a workspace, as a dict."""

    texts: dict[str, str] = field(default_factory=dict)
    generation: int = 0
    no_commands: str | None = None
    command_folder: object = "proj"

    def describe(self) -> str:
        return "The project folder is `proj`."

    def put(self, path: str, text: str) -> None:
        self.texts[path] = text
        self.generation += 1


def accept(proposal: Proposal, project: Project) -> ReviewAnswer:
    for change in proposal.changes:
        project.put(change.path, change.after)
    return answered(proposal, project, applied=True)


def reject(proposal: Proposal, project: Project) -> ReviewAnswer:
    return answered(proposal, project, applied=False, reason="not like this")


def lie(proposal: Proposal, project: Project) -> ReviewAnswer:
    return answered(proposal, project, applied=True)


def answered(proposal: Proposal, project: Project, *, applied: bool, reason: str | None = None) -> ReviewAnswer:
    return ReviewAnswer(
        applied,
        reason,
        base=tuple(change.before for change in proposal.changes),
        expected=tuple(change.after for change in proposal.changes),
        now=tuple(project.texts.get(change.path) for change in proposal.changes),
    )


class MemoryCheckpoints:
    """Keeps what edits replaced in memory."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, Replaced]] = []
        self.back: list[tuple[Sequence[str], Sequence[str]]] = []

    async def remember(self, session: str, turn: str, replaced: Sequence[Replaced]) -> str | None:  # noqa: ARG002
        self.kept += [(turn, one) for one in replaced]
        return None

    async def turns(self, session: str) -> Sequence[str]:  # noqa: ARG002
        return tuple(dict.fromkeys(turn for turn, _ in self.kept))

    async def of(self, session: str, turns: Sequence[str]) -> Sequence[Replaced] | None:  # noqa: ARG002
        return tuple(one for turn, one in self.kept if turn in turns)

    async def undone(self, session: str, turns: Sequence[str], paths: Sequence[str]) -> None:  # noqa: ARG002
        self.kept = [row for row in self.kept if row[0] not in turns]
        self.back.append((turns, paths))

    async def ways_back(self, session: str) -> Sequence[tuple[Sequence[str], Sequence[str]]]:  # noqa: ARG002
        return tuple(self.back)


class FakeEditor:
    removes_files = True

    def __init__(self, project: Project, reviewer: Reviewer = accept) -> None:
        self.project = project
        self.reviewer = reviewer
        self.consents: list[Consent] = []
        self.asked: list[str] = []
        self.reviewed: list[Proposal] = []
        self.told: list[str] = []
        self.reported: list[Mapping[str, Sequence[Problem]]] = []
        self.asked_of: list[tuple[str, ...]] = []
        self.unsaved: tuple[str, ...] = ()
        self.open = 0

    async def review(self, review_id: str, proposal: Proposal) -> ReviewAnswer:  # noqa: ARG002
        self.reviewed.append(proposal)
        self.open += 1
        try:
            answer = self.reviewer(proposal, self.project)
            return answer if isinstance(answer, ReviewAnswer) else await answer
        finally:
            self.open -= 1

    async def consent(self, call_id: str, command: str) -> Consent:  # noqa: ARG002
        self.asked.append(command)
        return self.consents.pop(0) if self.consents else Consent(ConsentDecision.REFUSE)

    async def save_edited(self) -> SaveReport:
        return SaveReport(unsaved=self.unsaved)

    async def problems(self, uris: Sequence[str]) -> Mapping[str, Sequence[Problem]]:
        self.asked_of.append(tuple(uris))
        return self.reported.pop(0) if self.reported else {}

    def notify(self, text: str, *, important: bool) -> None:  # noqa: ARG002
        self.told.append(text)


@dataclass(frozen=True)
class FakeTool:
    spec: ToolSpec
    kind: ToolKind
    act: Callable[[JsonObject, ToolContext], ToolResult | Proposal]

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolResult | Proposal:
        outcome = self.act(arguments, context)
        if isinstance(outcome, ToolResult) and len(outcome.content) > context.max_chars:
            return replace(outcome, content=outcome.content[: context.max_chars], truncated=True)
        return outcome


def after_pending(path: str, project: Project, context: ToolContext) -> str | None:
    return next((change.after for change in context.pending if change.path == path), project.texts.get(path))


def spec(name: str, required: Sequence[str], **types: str) -> ToolSpec:
    properties: dict[str, Json] = {key: {"type": kind} for key, kind in types.items()}
    return ToolSpec(name, f"{name}.", {"type": "object", "properties": properties, "required": list(required)})


def tools(project: Project, ran: list[str]) -> tuple[FakeTool, ...]:
    def read(arguments: JsonObject, _: ToolContext) -> ToolResult:
        path = str(arguments["path"])
        ran.append(f"read {path}")
        text = project.texts.get(path)
        return ToolResult(False, f"no such file: {path}") if text is None else ToolResult(True, text)

    def write(arguments: JsonObject, context: ToolContext) -> ToolResult | Proposal:
        path = str(arguments["path"])
        before = after_pending(path, project, context)
        change = FileChange(path, f"file:///proj/{path}", before, str(arguments["content"]))
        return Proposal(f"write {path}", (change,))

    def edit(arguments: JsonObject, context: ToolContext) -> ToolResult | Proposal:
        path, old, new = (str(arguments[name]) for name in ("path", "old_text", "new_text"))
        text = after_pending(path, project, context)
        if text is None:
            return ToolResult(False, f"no such file: {path}")
        edited = edits.replace(text, old, new)
        if isinstance(edited, edits.EditProblem):
            return ToolResult(False, edited.message)
        return Proposal(f"edit {path}", (FileChange(path, f"file:///proj/{path}", text, edited.after, 1, edited.note),))

    def run(arguments: JsonObject, _: ToolContext) -> ToolResult:
        ran.append(f"run {arguments['command']}")
        return ToolResult(True, "exit code 0")

    return (
        FakeTool(spec("read_file", ["path"], path="string", start="integer", end="integer"), ToolKind.READ, read),
        FakeTool(spec("write_file", ["path", "content"], path="string", content="string"), ToolKind.EDIT, write),
        FakeTool(
            spec("edit_file", ["path", "old_text", "new_text"], path="string", old_text="string", new_text="string"),
            ToolKind.EDIT,
            edit,
        ),
        FakeTool(spec("run_command", ["command"], command="string"), ToolKind.COMMAND, run),
    )


class MemoryJournal:
    """A journal whose records can be looked at."""

    def __init__(self, session: str, records: list[dict[str, Json]]) -> None:
        self.session = session
        self.problem: str | None = None
        self.records = records
        self.syncs = 0
        self.closed = False

    def append(self, record: dict[str, Json]) -> None:
        self.records.append(record)

    def sync(self) -> None:
        self.syncs += 1

    def close(self) -> None:
        self.closed = True


class MemoryStore:
    def __init__(self) -> None:
        self.journals: dict[str, MemoryJournal] = {}

    def create(self, header: Callable[[str], dict[str, Json]]) -> MemoryJournal:
        session = f"s{len(self.journals) + 1}"
        self.journals[session] = MemoryJournal(session, [header(session)])
        return self.journals[session]

    def open(self, session: str) -> Stored:
        if session not in self.journals:
            raise UnknownSession(f"There is no conversation {session}.")
        journal = self.journals[session]
        return Stored(journal, tuple(journal.records))


class Desk:
    """A whole agent over doubles: `run` asks and waits for the result; `events` is the trace."""

    def __init__(
        self,
        script: Iterable[Scripted] = (),
        *,
        texts: dict[str, str] | None = None,
        reviewer: Reviewer = accept,
        settings: Settings | None = None,
        info: ModelInfo | ModelError | None = None,
    ) -> None:
        self.project = Project(dict(texts or {}))
        self.editor = FakeEditor(self.project, reviewer)
        self.model = ScriptedModel(script, info)
        self.settings = settings or Settings()
        self.events: list[Event] = []
        self.ran: list[str] = []
        self.slept: list[float] = []
        self.queues: list[tuple[str, ...]] = []
        self.told: list[str] = []
        self.store = MemoryStore()
        self.checkpoints = MemoryCheckpoints()
        ids = count(1)
        self.ports = Ports(
            model=lambda: self.model,
            tools=tools(self.project, self.ran),
            editor=self.editor,
            checkpoints=lambda: self.checkpoints,
            workspace=self.project,
            settings=lambda: self.settings,
            clock=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
            new_id=lambda kind: f"{kind}-{next(ids)}",
            system_prompt=lambda: "You are a test.",
            prepare=_ready,
            sleep=self.sleep,
        )
        self.conversations = Conversations(
            self.ports,
            lambda: self.store,
            self.events.append,
            lambda _session, waiting: self.queues.append(tuple(turn.ask.text for turn in waiting)),
            self.told.append,
        )

    async def sleep(self, seconds: float) -> None:
        """Waits of the agent take no time, but for those that only watch a request: they last until it ends."""
        if seconds in NOTICE_SECONDS:
            await asyncio.Event().wait()
        self.slept.append(seconds)

    @property
    def conversation(self) -> Conversation:
        return self.conversations.get(None)

    def ask(self, text: str = "do it", *, mode: Mode = Mode.AGENT) -> Turn:
        return self.conversation.turns.start(Ask(text, text, mode=mode))

    def kinds(self) -> list[str]:
        return [event.body.kind for event in self.events]

    def of(self, kind: str) -> list[dict[str, Json]]:
        return [event.to_json() for event in self.events if event.body.kind == kind]

    def results(self) -> list[str]:
        """What the model was told, call by call."""
        return [str(event["content"]) for event in self.of("tool.returned")]


async def _ready(_tell: Callable[[str], None]) -> None:
    return None
