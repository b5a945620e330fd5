"""Thousands of random replies through the whole loop: cut, mixed, damaged, hostile, and the forms of every family.

`pytest --replies 10000 tests/agent/test_random_replies.py` is the long run; it takes some twenty seconds.
"""

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from llamagent_server.agent.ports import ChatRequest, Consent, ConsentDecision, Failure, ModelEvent, ReviewAnswer
from llamagent_server.core.messages import AssistantMessage, Finish, Origin, ToolMessage, Usage
from llamagent_server.core.proposals import Proposal
from llamagent_server.core.records import replay
from llamagent_server.core.transcript import Transcript
from llamagent_server.errors import ContextOverflow, LlamagentError, ModelError, ModelFailed, UnreadableCall
from llamagent_server.providers.reply import ReplyBuilder
from llamagent_server.settings import Settings
from tests.agent.doubles import Desk, Project, ScriptedModel, accept, lie, reject
from tests.providers.test_toolcall_text_any import MARKS, WORDS

SEED = 20_260_822
CASES = Path(__file__).parents[1] / "cases"
CORPUS = [
    json.loads(line)
    for name in ("toolcalls.jsonl", "toolcalls_more.jsonl")
    for line in (CASES / name).read_text("utf-8").splitlines()
]
TURNS = 20  # in one conversation
FAULTS = (
    ModelFailed("cut", retryable=True),
    ModelFailed("out of memory"),
    UnreadableCall("EOF", retryable=True),
    ContextOverflow("too long"),
)
ARGUMENTS: tuple[Any, ...] = (
    {"path": "a.py"},
    {"path": "a.py", "content": "b"},
    {"command": "make"},
    {"path": None},
    {"path": ["a"], "content": {}},
    '{"path": "a',
    "[]",
    None,
    {"path": "\ud800", "content": "x" * 5000},
    {"n": float("nan")},
)


@dataclass(frozen=True)
class Said:
    """One reply as a server would send it, or its failure."""

    content: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    cut: bool = False
    fault: ModelError | None = None


@dataclass
class RandomModel(ScriptedModel):
    """Says what `draw` gives, through what every provider makes its replies with."""

    draw: Callable[[], Said] = Said
    said: list[Said] = field(default_factory=list)

    def __init__(self, draw: Callable[[], Said]) -> None:
        super().__init__(())
        self.draw = draw
        self.said = []

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        said = self.draw()
        self.said.append(said)
        builder = ReplyBuilder(request)
        for delta in (*builder.thinking(said.thinking), *builder.content(said.content)):
            yield delta
        if said.fault is not None:
            yield Failure(said.fault, builder.text)
            return
        for name, arguments in said.calls:
            builder.call(None, name, arguments)
        for delta in builder.close():
            yield delta
        yield builder.reply(Finish.LENGTH if said.cut else Finish.STOP, Usage())


def drawn(rng: random.Random) -> Said:
    kind = rng.randrange(12)
    if kind == 0:
        return Said(rng.choice(["", "words", "\n"]), fault=rng.choice(FAULTS))
    if kind == 1:
        names = ("read_file", "write_file", "run_command", "bash", "create_file", "fly", "")
        made = tuple((rng.choice(names), rng.choice(ARGUMENTS)) for _ in range(rng.randint(1, 3)))
        return Said(_text(rng) if rng.random() < 0.5 else "", calls=made, cut=rng.random() < 0.1)
    thinking = _text(rng) if rng.random() < 0.2 else ""
    return Said(_text(rng) if rng.random() < 0.9 else "", thinking, cut=rng.random() < 0.2)


def _text(rng: random.Random) -> str:
    case = rng.choice(CORPUS)
    text = case["content"] or case.get("thinking", "")
    match rng.randrange(8):
        case 0:
            return text[: rng.randint(0, len(text))]
        case 1:
            return text[: rng.randint(0, len(text))] + _text(rng)[-rng.randint(1, 200) :]
        case 2:
            return _damaged(rng, text)
        case 3:
            return "".join(rng.choice((*MARKS, *WORDS, "\n", " ")) for _ in range(rng.randint(1, 60)))
        case 4:
            return text * rng.randint(2, 9)
        case 5:
            return f"{text}\n\n{rng.choice(CORPUS)['content']}"
        case _:
            return text


def _damaged(rng: random.Random, text: str) -> str:
    characters = list(text)
    for _ in range(rng.randint(1, 6)):
        if not characters:
            break
        at = rng.randrange(len(characters))
        match rng.randrange(3):
            case 0:
                del characters[at]
            case 1:
                characters.insert(at, rng.choice("\"'{}[]<>\\|\n` \ud800\x00é"))
            case _:
                characters[at] = rng.choice(characters)
    return "".join(characters)


def stale(proposal: Proposal, project: Project) -> ReviewAnswer:
    """Nobody said no, but the files changed meanwhile."""
    why = dict.fromkeys([change.uri for change in proposal.changes], "stale")
    return replace(reject(proposal, project), failures=why)


@dataclass
class Person:
    """Decides at random, and remembers what the answer was."""

    rng: random.Random
    accepted: list[Proposal] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)
    always: set[str] = field(default_factory=set)

    def review(self, proposal: Proposal, project: Project) -> ReviewAnswer:
        answer = self.rng.choice([accept, accept, reject, lie, stale])
        if answer is accept:
            self.accepted.append(proposal)
        return answer(proposal, project)

    async def consent(self, call_id: str, command: str) -> Consent:  # noqa: ARG002
        decision = self.rng.choice(list(ConsentDecision))
        if decision is not ConsentDecision.REFUSE:
            self.allowed.append(command)
        if decision is ConsentDecision.ALWAYS:
            self.always.add(command)
        return Consent(decision)


async def conversation(rng: random.Random) -> int:
    """One conversation of random turns, checked at its end; how many replies it took."""
    person = Person(rng)
    before = {"a.py": "x = 1\n", "b.py": "y = 1\n"}
    desk = Desk(texts=before, reviewer=person.review, settings=Settings(max_steps=6, num_ctx=rng.choice([2048, 8192])))
    desk.model = model = RandomModel(lambda: drawn(rng))
    desk.editor.consent = person.consent  # type: ignore[method-assign]
    for number in range(TURNS):
        with suppress(LlamagentError):
            await desk.ask(f"task {number}").result()
        check(desk)
    texts = dict(before)
    for proposal in person.accepted:
        texts |= {change.path: change.after for change in proposal.changes}
    assert desk.project.texts == texts
    ran = [line.removeprefix("run ") for line in desk.ran if line.startswith("run ")]
    assert all(command in person.allowed for command in ran)
    assert len([command for command in ran if command not in person.always]) <= len(person.allowed)
    return len(model.said)


def check(desk: Desk) -> None:
    """The conversation is whole, as it is and as it was stored, and so is the trace."""
    session = desk.conversation.session
    assert not Transcript(session.messages).pending
    assert isinstance(session.messages[-1], AssistantMessage)
    made = [
        call for message in session.messages if isinstance(message, AssistantMessage) for call in message.tool_calls
    ]
    results = [message.call_id for message in session.messages if isinstance(message, ToolMessage)]
    assert sorted(call.id for call in made) == sorted(results)
    assert replay(desk.store.journals[session.id].records).messages == session.messages
    assert [event.seq for event in desk.events] == list(range(desk.events[-1].seq + 1))
    assert desk.events[-1].body.kind == "turn.ended"
    json.dumps([event.to_json() for event in desk.events[-30:]], allow_nan=False)
    assert {call.origin for call in made} <= {Origin.NATIVE, Origin.TEXT, Origin.SCHEMA}


def test_any_replies_leave_a_whole_conversation_and_every_change_was_allowed(request: pytest.FixtureRequest) -> None:
    replies = number = 0
    while replies < request.config.getoption("--replies"):
        try:
            replies += asyncio.run(conversation(random.Random(f"{SEED}-{number}")))
        except Exception as failure:
            failure.add_note(f"conversation {number} of seed {SEED}")
            raise
        number += 1
