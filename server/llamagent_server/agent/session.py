"""One conversation: its transcript, its journal and trace, and the ports that its turns use."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from llamagent_server.agent.context import Meter
from llamagent_server.agent.ports import (
    Checkpoints,
    Clock,
    CommandPlace,
    Editor,
    Journal,
    Model,
    NewId,
    Tool,
    Workspace,
)
from llamagent_server.agent.road import NoMemory, Road, RoadKey, RoadMemory
from llamagent_server.agent.trace import Trace
from llamagent_server.core.messages import Message, SystemMessage, ToolSpec, UserMessage
from llamagent_server.core.records import (
    Replayed,
    TurnMark,
    cleared_record,
    compacted_record,
    kept_before,
    message_record,
    rewound_record,
    turn_record,
)
from llamagent_server.core.transcript import Transcript
from llamagent_server.settings import Settings


async def _anywhere() -> CommandPlace:
    return CommandPlace(sandboxed=False)


async def _nothing_unseen(_path: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Ports:
    """What every session of a connection shares.

    `prepare` settles with the person what must be settled before a first step (trust, a model's download), and is
    given a function to tell them things. `roads` says for each model how it takes tools, `memory` what was learned of
    it in earlier connections; `windows` how many tokens of context its server gives it, where that is less than asked.
    `sleep` waits that many seconds. `command_place` says how a command would run now; `unseen` why the model may not
    see a file, if so.
    """

    model: Callable[[], Model]
    tools: tuple[Tool, ...]
    editor: Editor
    checkpoints: Callable[[], Checkpoints]
    workspace: Workspace
    settings: Callable[[], Settings]
    clock: Clock
    new_id: NewId
    system_prompt: Callable[[], str]
    prepare: Callable[[Callable[[str], None]], Awaitable[None]]
    command_place: Callable[[], Awaitable[CommandPlace]] = _anywhere
    unseen: Callable[[str], Awaitable[str | None]] = _nothing_unseen
    roads: dict[RoadKey, Road] = field(default_factory=dict)
    windows: dict[RoadKey, int] = field(default_factory=dict)
    memory: RoadMemory = field(default_factory=NoMemory)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools)


class Session:
    """A conversation in memory, written through to its journal with every message."""

    def __init__(self, ports: Ports, journal: Journal, trace: Trace, told: Replayed | None = None) -> None:
        """`told` is what the journal tells of a conversation that is gone on with."""
        self.id = journal.session
        self.ports = ports
        self.journal = journal
        self.trace = trace
        self.transcript = told.transcript if told else Transcript()
        self.turns: dict[str, TurnMark] = dict(told.turns) if told else {}
        self.meter = Meter()
        self.rewrites = 0  # each may have taken results out of the model's sight
        self.problems: dict[str, frozenset[str]] = {}  # what was told last of the problems in a document, by its URI
        # Commands that the person allowed for this session, word for word, each in the folder that the question named.
        self.allowed: set[tuple[object, str]] = set()
        self.starved: set[str] = set()  # those that failed for want of a network: the person is asked the next time

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.transcript.messages

    @property
    def title(self) -> str:
        first = next((m.content for m in self.messages if isinstance(m, UserMessage)), "")
        line = first.strip().splitlines()[0] if first.strip() else ""
        return line if len(line) <= 80 else line[:79] + "…"

    def add(self, message: Message) -> None:
        self._give_system_prompt()
        self.transcript.append(message)
        self.journal.append(message_record(message))

    def _give_system_prompt(self) -> None:
        """A conversation begins with it; those that other agents have stored come without."""
        if not self.messages:
            prompt = SystemMessage(self.ports.system_prompt())
            self.transcript.append(prompt)
            self.journal.append(message_record(prompt))
        elif not isinstance(self.messages[0], SystemMessage):
            self.rewrite((SystemMessage(self.ports.system_prompt()), *self.messages))

    def begin(self, turn: str, mode: str, ask: tuple[str, str, tuple[str, ...]]) -> None:
        """Note that a turn begins here; `ask` is what the model gets, what the person typed, and what went along."""
        text, shown, files = ask
        self.turns[turn] = TurnMark(self.transcript, len(self.transcript), mode, text, shown, files)
        self.journal.append(turn_record(turn, mode))

    def rewind(self, turn: str) -> None:
        """Go back to what the conversation was before `turn`. In the journal nothing is erased."""
        self.transcript = Transcript(self.turns[turn].messages)
        self.turns = kept_before(self.turns, turn)
        self.rewrites += 1
        self.meter.forget()
        self.journal.append(rewound_record(turn))

    def clear(self) -> None:
        """Forget the conversation so far."""
        self.transcript = Transcript()
        self.turns = {}
        self.meter.forget()
        self.journal.append(cleared_record())

    def rewrite(self, messages: Iterable[Message]) -> None:
        """Put a compacted conversation in the place of the present one."""
        self.transcript = Transcript(messages)
        self.rewrites += 1
        self.meter.forget()
        self.journal.append(compacted_record(self.messages))
