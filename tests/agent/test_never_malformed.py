"""Whatever the model, the person and the server do: a whole conversation, one result a call, no ungated change."""

import asyncio
from contextlib import suppress
from contextvars import ContextVar

from hypothesis import given, settings
from hypothesis import strategies as st

from llamagent_server.agent.ports import Consent, ConsentDecision, Failure, ReviewAnswer
from llamagent_server.core.messages import AssistantMessage, Finish, Json, Reply, ToolCall, ToolMessage
from llamagent_server.core.proposals import Proposal
from llamagent_server.core.records import replay
from llamagent_server.core.transcript import Transcript
from llamagent_server.errors import ContextOverflow, LlamagentError, ModelFailed, ModelLacksTools, ModelNotFound
from llamagent_server.settings import Settings
from tests.agent.doubles import Desk, Hang, Project, Reviewer, accept, call, lie, reject, reply

json_values: st.SearchStrategy[Json] = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.text(max_size=4), st.just(["a"])
)
names = st.sampled_from(["read_file", "write_file", "run_command", "str_replace", "bash", "nothing", ""])
keys = st.sampled_from(["path", "content", "command", "start", "filepath", "cmd", "x"])
tool_calls = st.builds(
    lambda name, arguments, problem: ToolCall(call("x").id, name, arguments, problem=problem),
    names,
    st.sampled_from([{"path": "a.py", "content": "b"}, {"path": "a.py"}, {"command": "make"}])
    | st.dictionaries(keys, json_values, max_size=3),
    st.sampled_from([None, None, None, "cut"]),
)
replies = st.builds(
    lambda content, calls, finish: reply(content, *([] if finish is Finish.LENGTH else calls), finish=finish),
    st.sampled_from(["", "words", "<think>", '{"answer": "yes"}', '{"tool": "read_file", "arguments": {}}']),
    st.lists(tool_calls, max_size=3),
    st.sampled_from([None, Finish.STOP, Finish.LENGTH]),
)
failures = st.sampled_from(
    [
        Failure(ModelFailed("cut", retryable=True)),
        Failure(ModelFailed("out of memory")),
        Failure(ModelNotFound("none")),
        Failure(ModelLacksTools("none")),
        Failure(ContextOverflow("too long")),
    ]
)
STALLED: ContextVar[asyncio.Event] = ContextVar("STALLED")
scripts = st.lists(st.one_of(replies, replies, replies, failures, st.just("hang")), max_size=8)


def rearmed(script: list[Reply | Failure | str]) -> list[Reply | Failure | Hang]:
    """The script with fresh call ids: an entry that hypothesis used twice must not share them."""
    fresh: list[Reply | Failure | Hang] = []
    for entry in script:
        match entry:
            case "hang":
                fresh.append(Hang())
            case Reply(content=content, tool_calls=calls, finish=finish):
                again = [ToolCall(call("x").id, c.name, c.arguments, problem=c.problem) for c in calls]
                fresh.append(reply(content, *again, finish=finish))
            case Failure():
                fresh.append(entry)
    return fresh


async def stall(proposal: Proposal, project: Project) -> ReviewAnswer:
    """A person who never answers: the turn can only be cancelled."""
    STALLED.get().set()
    await asyncio.Event().wait()
    return accept(proposal, project)


async def play(desk: Desk) -> None:
    for _ in range(3):
        stalled = asyncio.Event()
        STALLED.set(stalled)
        turn = desk.ask()
        hangs = [entry.started.wait() for entry in desk.model.script if isinstance(entry, Hang)]
        waiters = [asyncio.ensure_future(waiter) for waiter in (*hangs, stalled.wait())]
        result = asyncio.ensure_future(turn.result())
        await asyncio.wait([*waiters, result], return_when=asyncio.FIRST_COMPLETED)
        for waiter in waiters:
            waiter.cancel()
        turn.cancel()
        with suppress(LlamagentError):
            await result


@settings(deadline=None, max_examples=150)
@given(
    scripts, st.sampled_from([accept, reject, lie, stall]), st.lists(st.sampled_from(list(ConsentDecision)), max_size=3)
)
def test_any_mixture_ends_in_a_whole_conversation(
    script: list[Reply | Failure | str], reviewer: Reviewer, decisions: list[ConsentDecision]
) -> None:
    async def scene() -> Desk:
        desk = Desk(
            [*rearmed(script), *[reply("the end") for _ in range(40)]],
            texts={"a.py": "a"},
            reviewer=reviewer,
            settings=Settings(max_steps=6),
        )
        desk.editor.consents = [Consent(decision) for decision in decisions]
        await play(desk)
        return desk

    desk = asyncio.run(scene())
    session = desk.conversation.session
    assert not Transcript(session.messages).pending
    assert isinstance(session.messages[-1], AssistantMessage)
    made = [c.id for m in session.messages if isinstance(m, AssistantMessage) for c in m.tool_calls]
    results = [m.call_id for m in session.messages if isinstance(m, ToolMessage)]
    assert sorted(made) == sorted(results)
    assert replay(desk.store.journals[session.id].records).messages == session.messages
    for previous, event in zip(desk.events, desk.events[1:], strict=False):
        assert event.seq == previous.seq + 1
        assert (event.body.kind == "turn.started") == (previous.body.kind == "turn.ended")
    if reviewer is not accept:
        assert desk.project.texts == {"a.py": "a"}
    consented = sum(decision is not ConsentDecision.REFUSE for decision in decisions)
    if not consented:
        assert not [ran for ran in desk.ran if ran.startswith("run ")]
