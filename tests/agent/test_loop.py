"""The loop over doubles: what the model is told, what the trace says, and that the conversation is always whole."""

import asyncio
import itertools
from dataclasses import replace

import pytest

from llamagent_server.agent.compaction import PRUNED
from llamagent_server.agent.ports import Consent, ConsentDecision, Failure, ModelInfo
from llamagent_server.agent.road import Road
from llamagent_server.agent.roads import road_key
from llamagent_server.agent.toolcalls import MAX_CALLS, TOO_MANY
from llamagent_server.agent.turn import Ask
from llamagent_server.core.events import StopReason
from llamagent_server.core.messages import (
    AssistantMessage,
    Finish,
    Message,
    Origin,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from llamagent_server.core.policy import Mode
from llamagent_server.core.records import replay
from llamagent_server.core.transcript import Transcript
from llamagent_server.errors import (
    ContextOverflow,
    ModelError,
    ModelFailed,
    ModelLacksTools,
    ModelLoading,
    ModelNotFound,
)
from llamagent_server.settings import Settings
from tests.agent.doubles import Desk, Hang, answered, call, fails, lie, reject, reply


def assert_whole(messages: tuple[Message, ...]) -> None:
    """Every call has its one result, and nobody is left waiting."""
    assert not Transcript(messages).pending
    assert isinstance(messages[0], SystemMessage)
    assert isinstance(messages[-1], AssistantMessage)


async def test_a_turn_of_fourteen_calls_and_an_answer_tells_every_event_in_order() -> None:
    script = [reply("", call("read_file", path=f"f{i}.py")) for i in range(14)]
    desk = Desk([*script, reply("done")], texts={f"f{i}.py": f"x = {i}\n" for i in range(14)})

    result = await desk.ask("read them all").result()

    assert (result.answer, result.stop_reason, result.steps) == ("done", StopReason.ANSWERED, 15)
    step = ["model.requested", "model.replied", "harness.decided", "tool.started", "tool.returned", "context.gauge"]
    last = ["model.requested", "model.delta", "model.replied", "context.gauge", "turn.ended"]
    assert desk.kinds() == ["turn.started", *step * 14, *last]
    assert [event.seq for event in desk.events] == list(range(len(desk.events)))
    assert {event.turn for event in desk.events} == {result.turn}
    assert [event.step for event in desk.events if event.body.kind == "model.replied"] == list(range(1, 16))


async def test_of_too_many_calls_in_a_reply_the_first_are_made_and_each_other_is_told_so() -> None:
    calls = [call("read_file", path=f"f{number}.py") for number in range(300)]
    texts = {f"f{number}.py": "x\n" for number in range(300)}
    desk = Desk([reply("", *calls), reply("done")], texts=texts, settings=Settings(num_ctx=65_536))

    result = await desk.ask("read them all").result()

    assert (result.answer, result.stop_reason) == ("done", StopReason.ANSWERED)
    assert desk.ran == [f"read f{number}.py" for number in range(MAX_CALLS)]
    returned = desk.of("tool.returned")
    assert [event["call"] for event in returned] == [made.id for made in calls]
    assert [event["content"] == TOO_MANY for event in returned] == [number >= MAX_CALLS for number in range(300)]
    refused = [event for event in desk.of("harness.decided") if event["decision"] == "refuse"]
    assert [event["reason"] for event in refused] == [
        "the model asked for 300 calls at once; only the first 64 are made"
    ]
    assert_whole(desk.conversation.session.messages)


async def test_each_request_begins_with_the_messages_of_the_one_before() -> None:
    script = [reply("looking", call("read_file", path="a.py")), reply("", call("read_file", path="b.py")), reply("ok")]
    desk = Desk(script, texts={"a.py": "a", "b.py": "b"})
    await desk.ask().result()
    requests = desk.model.requests
    for earlier, later in itertools.pairwise(requests):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert (later.tools, later.options) == (earlier.tools, earlier.options)


async def test_the_journal_replays_to_the_same_conversation() -> None:
    desk = Desk([reply("", call("read_file", path="a.py")), reply("it is a")], texts={"a.py": "a"})
    await desk.ask().result()
    session = desk.conversation.session
    told = replay(desk.store.journals[session.id].records)
    assert told.messages == session.messages
    assert told.last_seq == desk.events[-1].seq
    assert told.dropped == 0


async def test_an_accepted_edit_is_told_as_it_really_is() -> None:
    desk = Desk(
        [reply("", call("write_file", path="a.py", content="x = 2\n")), reply("done")], texts={"a.py": "x = 1\n"}
    )
    await desk.ask().result()
    assert desk.project.texts["a.py"] == "x = 2\n"
    assert desk.results() == ["Edited a.py (+1 -1). The user accepted it."]
    assert desk.of("edit.proposed")[0]["diff"] == "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    assert desk.of("edit.resolved")[0]["outcome"] == "accepted"


async def test_a_rejected_edit_changes_nothing_and_its_reason_reaches_the_model() -> None:
    script = [reply("", call("write_file", path="a.py", content="x = 2\n")), reply("I see")]
    desk = Desk(script, texts={"a.py": "x = 1\n"}, reviewer=reject)
    await desk.ask().result()
    assert desk.project.texts["a.py"] == "x = 1\n"
    assert desk.results() == [
        'The user rejected this edit of a.py. Their words: "not like this". Nothing was changed in it.'
    ]
    assert desk.of("edit.resolved")[0]["outcome"] == "rejected"
    assert desk.of("notice")[0]["text"] == "Nothing was changed: 1 edit was tried, and none was applied."


async def test_an_editor_that_says_applied_and_changes_nothing_is_found_out() -> None:
    script = [reply("", call("write_file", path="a.py", content="x = 2\n")), reply("hm")]
    desk = Desk(script, texts={"a.py": "x = 1\n"}, reviewer=lie)
    await desk.ask().result()
    assert desk.of("edit.resolved")[0]["outcome"] == "failed"
    assert desk.results()[0].startswith("The edit of a.py was not applied: the editor said yes, but nothing changed")


async def test_a_half_kept_edit_is_told_with_the_diff_of_what_is_there() -> None:
    def keep_half(proposal, project):  # type: ignore[no-untyped-def]
        project.put("a.py", "x = 2\ny = 1\n")
        return answered(proposal, project, applied=True)

    script = [reply("", call("write_file", path="a.py", content="x = 2\ny = 2\n")), reply("hm")]
    desk = Desk(script, texts={"a.py": "x = 1\ny = 1\n"}, reviewer=keep_half)
    await desk.ask().result()
    resolved = desk.of("edit.resolved")[0]
    assert resolved["outcome"] == "modified"
    assert resolved["diff"] == "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n y = 1\n"
    assert "-x = 1\n+x = 2\n y = 1\n" in desk.results()[0]


async def test_typing_while_an_edit_is_refused_is_not_taken_for_the_edit() -> None:
    def refuse_and_type(proposal, project):  # type: ignore[no-untyped-def]
        project.put("a.py", "x = 1\nmine = 1\n")
        return answered(proposal, project, applied=False)

    script = [reply("", call("write_file", path="a.py", content="x = 2\n")), reply("ok")]
    desk = Desk(script, texts={"a.py": "x = 1\n"}, reviewer=refuse_and_type)
    await desk.ask().result()
    assert desk.of("edit.resolved")[0]["outcome"] == "rejected"


async def test_a_command_runs_only_after_consent() -> None:
    desk = Desk([reply("", call("run_command", command="make")), reply("ok")])
    await desk.ask().result()
    assert desk.ran == []
    assert desk.results() == ["The user refused to run this command. It did not run."]

    desk = Desk([reply("", call("run_command", command="make")), reply("ok")])
    desk.editor.consents = [Consent(ConsentDecision.RUN)]
    await desk.ask().result()
    assert (desk.ran, desk.editor.asked) == (["run make"], ["make"])


async def test_always_allows_the_same_command_for_the_session_and_no_other() -> None:
    commands = [call("run_command", command=c) for c in ("make", "make", "make all")]
    desk = Desk([reply("", *commands), reply("ok")])
    desk.editor.consents = [Consent(ConsentDecision.ALWAYS)]
    await desk.ask().result()
    assert desk.editor.asked == ["make", "make all"]
    assert desk.ran == ["run make", "run make"]


async def test_files_that_are_not_saved_are_named_in_the_commands_result() -> None:
    desk = Desk([reply("", call("run_command", command="make")), reply("ok")])
    desk.editor.consents = [Consent(ConsentDecision.RUN)]
    desk.editor.unsaved = ("a.py",)
    await desk.ask().result()
    assert desk.results() == ["exit code 0\n(Not saved on disk yet, so not seen by it: a.py)"]


async def test_read_mode_refuses_edits_and_commands_and_sends_the_same_tools() -> None:
    calls = [call("write_file", path="a.py", content="x"), call("run_command", command="make")]
    desk = Desk([reply("", *calls), reply("as you wish")], texts={"a.py": "y"})
    desk.editor.consents = [Consent(ConsentDecision.RUN)]
    await desk.ask(mode=Mode.READ).result()
    assert (desk.ran, desk.editor.reviewed, desk.editor.asked) == ([], [], [])
    assert [event["decision"] for event in desk.of("harness.decided")] == ["refuse", "refuse"]
    assert [spec.name for spec in desk.model.requests[0].tools] == [
        "read_file",
        "write_file",
        "edit_file",
        "run_command",
    ]


async def test_an_unknown_tool_names_the_valid_ones() -> None:
    desk = Desk([reply("", call("fly", to="moon")), reply("ok")])
    await desk.ask().result()
    assert desk.results() == ["There is no tool 'fly'. The tools are: read_file, write_file, edit_file, run_command."]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "read_file needs path. Use read_file(path: string, start?: integer, end?: integer)."),
        (
            {"path": "a", "start": "ten"},
            'read_file: start must be an integer, not "ten". '
            "Use read_file(path: string, start?: integer, end?: integer).",
        ),
        (
            {"path": "a", "start": "--5"},
            'read_file: start must be an integer, not "--5". '
            "Use read_file(path: string, start?: integer, end?: integer).",
        ),
        (
            {"path": "a", "end": "9" * 400},
            f'read_file: end must be an integer, not "{"9" * 36}.... '
            "Use read_file(path: string, start?: integer, end?: integer).",
        ),
        (
            {"path": ["a"]},
            'read_file: path must be a string, not ["a"]. Use read_file(path: string, start?: integer, end?: integer).',
        ),
    ],
)
async def test_bad_arguments_are_answered_with_what_is_valid(arguments, told) -> None:  # type: ignore[no-untyped-def]
    desk = Desk([reply("", call("read_file", **arguments)), reply("ok")])
    await desk.ask().result()
    assert desk.results() == [told]


async def test_foreign_spellings_are_read_as_ours() -> None:
    script = [reply("", call("read_local_file", filepath="a.py", start_line="1")), reply("ok")]
    desk = Desk(script, texts={"a.py": "text"})
    await desk.ask().result()
    assert desk.results() == ["text"]
    assert desk.of("harness.decided")[0]["decision"] == "repair"


async def test_the_trace_says_which_calls_were_put_right_and_which_could_not_be() -> None:
    """Of edits and commands too, of which the person is asked whatever their form."""
    as_text = replace(call("edit_file", path="a.py", old_text="a", new_text="b"), origin=Origin.TEXT)
    foreign = call("create_file", filepath="b.py", content="x")
    typed = call("write_file", path="c.py", content=5)
    right = call("edit_file", path="a.py", old_text="c", new_text="d")
    wrong = (call("read_file"), call("fly", to="moon"))
    desk = Desk([reply("", as_text, foreign, typed, right, *wrong), reply("ok")], texts={"a.py": "a c"})
    await desk.ask().result()
    decided = desk.of("harness.decided")
    assert [event.get("form") for event in decided] == ["repaired"] * 3 + [None] + ["malformed"] * 2
    assert [event["decision"] for event in decided] == ["ask"] * 4 + ["refuse"] * 2


async def test_arguments_that_could_not_be_parsed_are_never_run() -> None:
    broken = replace(call("read_file", path="a.py"), arguments={}, problem="it ends in the middle")
    desk = Desk([reply("", broken), reply("ok")], texts={"a.py": "text"})
    await desk.ask().result()
    assert desk.ran == []
    assert desk.results() == ["The arguments could not be read: it ends in the middle"]


async def test_the_same_call_again_gets_the_earlier_result_and_a_third_stops() -> None:
    same = [reply("", call("read_file", path="a.py")) for _ in range(3)]
    desk = Desk(same, texts={"a.py": "text"})
    result = await desk.ask().result()
    assert desk.ran == ["read a.py"]
    assert desk.results()[1].startswith("text\n\nYou made this same call just before")
    assert [event["decision"] for event in desk.of("harness.decided")] == ["allow", "nudge", "stop"]
    assert result.stop_reason is StopReason.STEP_LIMIT
    assert result.answer.startswith("Stopped: the model made the same call (read_file) 3 times in a row")
    assert_whole(desk.conversation.session.messages)


async def test_calls_after_the_one_that_stopped_the_turn_are_decided_and_answered_too() -> None:
    same = [call("read_file", path="a.py") for _ in range(3)]
    desk = Desk([reply("", *same, call("read_file", path="b.py"))], texts={"a.py": "text"})
    await desk.ask().result()
    assert [event["decision"] for event in desk.of("harness.decided")] == ["allow", "nudge", "stop", "stop"]
    assert len({event["call"] for event in desk.of("harness.decided")}) == 4
    assert desk.results()[3] == "Not run: the turn was stopped before this call."
    assert_whole(desk.conversation.session.messages)


async def test_a_call_after_a_buffer_change_is_no_repetition() -> None:
    desk = Desk(texts={"a.py": "old"})
    desk.model.script = [
        reply("", call("read_file", path="a.py")),
        lambda _: (desk.project.put("a.py", "new"), reply("", call("read_file", path="a.py")))[1],
        reply("ok"),
    ]
    await desk.ask().result()
    assert desk.results() == ["old", "new"]


async def test_the_same_command_is_never_answered_from_memory() -> None:
    desk = Desk([*[reply("", call("run_command", command="make")) for _ in range(4)], reply("ok")])
    desk.editor.consents = [Consent(ConsentDecision.RUN)] * 4
    await desk.ask().result()
    assert desk.ran == ["run make"] * 4


async def test_a_rejected_edit_proposed_again_does_not_ask_the_person_again() -> None:
    again = [reply("", call("write_file", path="a.py", content="x")) for _ in range(2)]
    desk = Desk([*again, reply("ok")], texts={"a.py": "y"}, reviewer=reject)
    await desk.ask().result()
    assert len(desk.editor.reviewed) == 1


async def test_the_step_limit_ends_the_turn_with_every_call_answered() -> None:
    script = [reply("", call("read_file", path=f"{i}")) for i in range(3)]
    desk = Desk(script, settings=Settings(max_steps=3))
    result = await desk.ask().result()
    assert (result.stop_reason, result.steps) == (StopReason.STEP_LIMIT, 3)
    assert result.answer.startswith("Stopped after 3 steps (max_steps).")
    assert_whole(desk.conversation.session.messages)


async def test_the_token_budget_ends_the_turn() -> None:
    script = [reply("", call("read_file", path=f"{i}"), prompt_tokens=600) for i in range(9)]
    desk = Desk(script, settings=Settings(max_tokens_per_turn=1500))
    result = await desk.ask().result()
    assert (result.stop_reason, result.steps) == (StopReason.BUDGET, 3)
    assert result.usage.prompt_tokens == 1800


async def test_a_cancel_in_mid_stream_closes_the_request_and_the_next_ask_works() -> None:
    hang = Hang("I will")
    desk = Desk([hang, reply("here")])
    turn = desk.ask()
    await hang.started.wait()
    assert turn.cancel()
    result = await turn.result()
    assert result.stop_reason is StopReason.CANCELLED
    assert hang.closed
    assert_whole(desk.conversation.session.messages)
    assert (await desk.ask().result()).answer == "here"


async def test_a_cancel_before_the_first_step_ends_the_turn_and_the_next_one_runs() -> None:
    desk = Desk([reply("never"), reply("here")])
    turn, following = desk.ask("one"), desk.ask("two")
    assert turn.cancel()
    async with asyncio.timeout(5):
        assert (await turn.result()).stop_reason is StopReason.CANCELLED
        assert (await following.result()).stop_reason is StopReason.ANSWERED
    for kind in ("turn.started", "turn.ended"):
        assert [event["turn"] for event in desk.of(kind)] == [turn.id, following.id]
    assert_whole(desk.conversation.session.messages)


async def test_a_cancel_while_a_review_is_open_takes_it_down_and_settles_the_call() -> None:
    waiting = asyncio.Event()

    async def never(_proposal, _project):  # type: ignore[no-untyped-def]
        waiting.set()
        await asyncio.Event().wait()

    second = call("read_file", path="a.py")
    desk = Desk([reply("", call("write_file", path="a.py", content="x"), second)], texts={"a.py": "y"}, reviewer=never)
    turn = desk.ask()
    await waiting.wait()
    turn.cancel()
    assert (await turn.result()).stop_reason is StopReason.CANCELLED
    assert desk.editor.open == 0
    assert desk.project.texts == {"a.py": "y"}
    assert len(desk.of("tool.returned")) == 2
    assert_whole(desk.conversation.session.messages)


@pytest.mark.parametrize(
    "error",
    [ModelNotFound("no such model", hint="ollama pull m"), ModelFailed("out of memory", hint="a smaller model")],
)
async def test_a_failed_turn_raises_in_words_and_leaves_a_usable_conversation(error: ModelError) -> None:
    desk = Desk([reply("", call("read_file", path="a")), fails(error), reply("fine")])
    with pytest.raises(type(error), match=error.message):
        await desk.ask().result()
    ended = desk.of("turn.ended")[-1]
    assert (ended["stopReason"], ended["error"]) == ("error", str(error))
    assert_whole(desk.conversation.session.messages)
    assert (await desk.ask().result()).answer == "fine"


async def test_an_error_inside_a_tool_still_leaves_the_conversation_whole() -> None:
    desk = Desk([reply("", call("read_file", path="a"), call("read_file", path="b")), reply("fine")])

    def broken(_arguments, _context):  # type: ignore[no-untyped-def]
        raise ZeroDivisionError

    tools = tuple(replace(tool, act=broken) for tool in desk.ports.tools)  # type: ignore[type-var]
    object.__setattr__(desk.ports, "tools", tools)
    with pytest.raises(ZeroDivisionError):
        await desk.ask().result()
    assert_whole(desk.conversation.session.messages)
    assert len(desk.of("tool.returned")) == 2
    assert desk.kinds()[-1] == "turn.ended"


async def test_a_passing_fault_is_retried_and_said() -> None:
    busy = ModelFailed("The server is busy.", retryable=True)
    desk = Desk([fails(busy), fails(busy), reply("here")])
    assert (await desk.ask().result()).answer == "here"
    assert [event["attempt"] for event in desk.of("model.requested")] == [1, 2, 3]
    assert len(desk.of("notice")) == 2


async def test_an_empty_reply_is_nudged_at_most_twice() -> None:
    desk = Desk([reply(), reply(), reply()])
    with pytest.raises(ModelFailed, match="no usable reply three times"):
        await desk.ask().result()
    desk.model.script = [reply(), reply("better")]
    assert (await desk.ask().result()).answer == "better"


async def test_a_reply_cut_by_the_length_limit_is_no_answer() -> None:
    desk = Desk([reply("The first half of", finish=Finish.LENGTH), reply("short")])
    assert (await desk.ask().result()).answer == "short"
    assert desk.of("harness.decided")[0]["decision"] == "nudge"


async def test_a_model_without_tools_is_asked_by_schema_from_the_first_step() -> None:
    info = ModelInfo("m", capabilities=frozenset({"completion"}))
    desk = Desk([reply('{"answer": "hello"}')], info=info)
    assert (await desk.ask().result()).answer == "hello"
    request = desk.model.requests[0]
    assert request.tools == ()
    assert request.schema is not None
    assert desk.ports.roads == {road_key(desk.ports, desk.settings): Road.SCHEMA}


async def test_a_server_that_refuses_tools_switches_the_road_once() -> None:
    lacks = fails(ModelLacksTools("m does not support tools"))
    desk = Desk([lacks, reply('{"tool": "read_file", "arguments": {"path": "a"}}'), reply('{"answer": "A"}')])
    desk.project.texts["a"] = "text of a"
    assert (await desk.ask().result()).answer == "A"
    assert desk.results() == ["text of a"]
    assert [request.schema is None for request in desk.model.requests] == [True, False, False]


async def test_asks_meanwhile_wait_in_a_visible_queue_and_can_be_taken_out() -> None:
    hang = Hang()
    desk = Desk([hang, reply("third")])
    first = desk.ask("one")
    second, third = desk.ask("two"), desk.ask("three")
    await hang.started.wait()
    assert desk.queues == [("two",), ("two", "three")]
    assert desk.conversation.turns.unqueue(second.id)
    assert (await second.result()).stop_reason is StopReason.CANCELLED
    first.cancel()
    assert (await third.result()).answer == "third"
    assert desk.queues[-1] == ()


async def test_steering_joins_before_the_next_step() -> None:
    desk = Desk()

    def steer(_request):  # type: ignore[no-untyped-def]
        desk.conversation.turns.steer(Ask("in French", "in French"))
        return reply("Hello")

    desk.model.script = [steer, reply("Bonjour")]
    assert (await desk.ask().result()).answer == "Bonjour"
    assert desk.model.requests[1].messages[-1] == UserMessage("in French")


async def test_what_is_said_to_a_running_turn_is_seen_at_once_as_it_was_typed() -> None:
    desk = Desk()
    seen: list[list[str]] = []

    def steer(_request):  # type: ignore[no-untyped-def]
        desk.conversation.turns.steer(Ask("and b.py:\n```\nx\n```", "and @b.py", ("b.py",), notices=("b.py is cut.",)))
        seen.append(desk.kinds()[-2:])
        return reply("Hello")

    desk.model.script = [steer, reply("Both.")]
    await desk.ask().result()
    assert seen == [["turn.steered", "notice"]]
    (steered,) = [event.body for event in desk.events if event.body.kind == "turn.steered"]
    assert (steered.text, steered.files) == ("and @b.py", ("b.py",))


async def test_what_is_said_before_a_turn_has_begun_comes_after_its_start() -> None:
    desk = Desk()
    desk.model.script = [reply("Both.")]
    turn = desk.ask("first")
    desk.conversation.turns.steer(Ask("second", "second", notices=("told",)))
    await turn.result()
    assert desk.kinds()[:3] == ["turn.started", "turn.steered", "notice"]
    assert {event.turn for event in desk.events} == {turn.id}
    assert [m.content for m in desk.model.requests[0].messages[1:]] == ["first", "second"]


async def test_at_the_end_of_a_connection_words_that_were_not_heard_begin_no_turn_that_goes_on() -> None:
    hang = Hang()
    desk = Desk([hang, reply("never")])
    desk.ask("first")
    await hang.started.wait()
    desk.conversation.turns.steer(Ask("second", "second"))
    turns = desk.conversation.turns
    await desk.conversations.close()
    await asyncio.sleep(0)
    assert turns.idle
    assert len(desk.of("turn.started")) == len(desk.of("turn.ended"))
    assert {event["stopReason"] for event in desk.of("turn.ended")} == {"cancelled"}


async def test_what_a_turn_ended_without_hearing_is_the_next_one_as_it_was_typed() -> None:
    desk = Desk()

    def stop(_request):  # type: ignore[no-untyped-def]
        for name in ("a.py", "b.py"):
            desk.conversation.turns.steer(Ask(f"{name}:\n```\nx\n```", f"@{name}", (name,)))
        turn.cancel()
        return reply("Hello")

    desk.model.script = [stop, reply("Both."), reply("Last.")]
    turn = desk.ask("first", mode=Mode.READ)
    await desk.ask("last").result()  # it waits behind the words that were not heard
    started = [event.body for event in desk.events if event.body.kind == "turn.started"]
    assert [(body.text, body.files) for body in started] == [
        ("first", ()),
        ("@a.py\n\n@b.py", ("a.py", "b.py")),
        ("last", ()),
    ]
    assert "```" in desk.model.requests[1].messages[-1].content


async def test_the_context_is_compacted_between_steps_and_the_task_is_in_every_request() -> None:
    settings = Settings(num_ctx=2048, max_steps=40)
    texts = {f"f{i}": f"{i} " * 600 for i in range(30)}
    desk = Desk(texts=texts, settings=settings)

    def next_step(request):  # type: ignore[no-untyped-def]
        if request.messages[-1].content.startswith("Do not call a tool now."):
            return reply("Read some files; the rest is left.")
        done = len(desk.results())
        return reply("", call("read_file", path=f"f{done}")) if done < 30 else reply("all read")

    desk.model.script = [next_step] * 80
    result = await desk.ask("THE TASK: read all thirty files").result()
    assert result.answer == "all read"
    for request in desk.model.requests:
        assert any(isinstance(m, UserMessage) and "THE TASK" in m.content for m in request.messages)
        size = sum(len(message.content) for message in request.messages)
        assert size / 3.5 < 2048
    assert "compact" in [event["decision"] for event in desk.of("harness.decided")]
    assert_whole(desk.conversation.session.messages)


async def test_when_the_summary_fails_the_conversation_is_pruned_not_looped() -> None:
    settings = Settings(num_ctx=2048, max_steps=30)
    desk = Desk(texts={f"f{i}": f"{i} " * 600 for i in range(12)}, settings=settings)

    def next_step(request):  # type: ignore[no-untyped-def]
        if request.messages[-1].content.startswith("Do not call a tool now."):
            return Failure(ModelFailed("no"))
        done = len(desk.results())
        return reply("", call("read_file", path=f"f{done}")) if done < 12 else reply("all read")

    desk.model.script = [next_step] * 60
    assert (await desk.ask("TASK").result()).answer == "all read"
    assert all(any("TASK" in m.content for m in request.messages) for request in desk.model.requests)


async def test_a_summary_waits_for_a_model_that_is_loaded_again() -> None:
    loading = Failure(ModelLoading("still loading", retryable=True))
    settings = Settings(num_ctx=2048, max_steps=30)
    desk = Desk(texts={f"f{i}": f"{i} " * 600 for i in range(12)}, settings=settings)
    busy = [loading] * 3

    def next_step(request):  # type: ignore[no-untyped-def]
        if request.messages[-1].content.startswith("Do not call a tool now."):
            return busy.pop() if busy else reply("All is well so far.")
        done = len(desk.results())
        return reply("", call("read_file", path=f"f{done}")) if done < 12 else reply("all read")

    desk.model.script = [next_step] * 60
    assert (await desk.ask("TASK").result()).answer == "all read"
    assert desk.slept == [1, 2, 4]
    assert not any(PRUNED in m.content for request in desk.model.requests for m in request.messages)
    assert "All is well so far." in desk.model.requests[-1].messages[1].content


async def test_a_summary_of_a_model_that_never_gets_loaded_costs_the_conversation_nothing() -> None:
    loading = Failure(ModelLoading("still loading", retryable=True))
    settings = Settings(num_ctx=2048, max_steps=30, request_timeout=20)
    desk = Desk(texts={f"f{i}": f"{i} " * 600 for i in range(12)}, settings=settings)

    def next_step(request):  # type: ignore[no-untyped-def]
        if request.messages[-1].content.startswith("Do not call a tool now."):
            return loading
        return reply("", call("read_file", path=f"f{len(desk.results())}"))

    desk.model.script = [next_step] * 60
    with pytest.raises(ModelLoading):
        await desk.ask("TASK").result()
    assert desk.slept == [1, 2, 4, 8]
    assert [m.content for m in desk.conversation.session.messages if isinstance(m, UserMessage)] == ["TASK"]
    assert_whole(desk.conversation.session.messages)


async def test_a_message_that_can_never_fit_is_refused_and_costs_the_conversation_nothing() -> None:
    desk = Desk([reply("noted"), reply("as you said")])
    await desk.ask("remember the word plum").result()
    before = desk.conversation.session.messages
    with pytest.raises(ContextOverflow, match="too long"):
        await desk.ask("word " * 30_000).result()
    assert desk.conversation.session.messages == before
    assert desk.of("turn.ended")[-1]["stopReason"] == "error"
    await desk.ask("which word?").result()
    assert [m.content for m in desk.model.requests[-1].messages[1:]] == [
        "remember the word plum",
        "noted",
        "which word?",
    ]


async def test_a_message_that_can_never_fit_leaves_a_new_conversation_new() -> None:
    desk = Desk([reply("ok")])
    with pytest.raises(ContextOverflow, match="too long"):
        await desk.ask("word " * 30_000).result()
    assert (await desk.ask("short").result()).answer == "ok"
    assert_whole(desk.conversation.session.messages)


async def test_a_resumed_conversation_goes_on_with_its_numbers_and_its_messages() -> None:
    desk = Desk([reply("one"), reply("two")])
    await desk.ask("first").result()
    session, last = desk.conversation.id, desk.events[-1].seq
    again = Desk([reply("two")])
    again.store = desk.store
    again.conversations.to_ask_in(session)
    await again.ask("second").result()
    assert again.events[0].seq == last + 1
    sent = again.model.requests[0].messages
    assert [type(m) for m in sent] == [SystemMessage, UserMessage, AssistantMessage, UserMessage]


async def test_a_session_that_died_within_a_call_resumes_with_that_call_settled() -> None:
    desk = Desk([reply("", call("read_file", path="a")), reply("one")])
    await desk.ask().result()
    journal = desk.store.journals[desk.conversation.id]
    cut = next(i for i, record in enumerate(journal.records) if record.get("role") == "tool")
    told = replay(journal.records[:cut])
    assert isinstance(told.messages[-1], ToolMessage)
    assert "the session ended before" in told.messages[-1].content


async def test_a_conversation_of_the_terminal_agent_gets_a_system_message_when_it_is_gone_on_with() -> None:
    desk = Desk([reply("two")])
    journal = desk.store.create(lambda session: {"type": "session", "id": session})
    for fields in ({"role": "user", "content": "one?"}, {"role": "assistant", "content": "one"}):
        journal.append({"type": "message", **fields})
    desk.conversations.to_ask_in(journal.session)
    await desk.ask("and?").result()
    sent = desk.model.requests[0].messages
    assert [type(m) for m in sent] == [SystemMessage, UserMessage, AssistantMessage, UserMessage]
    assert replay(journal.records).messages == desk.conversation.session.messages


async def test_a_journal_that_cannot_be_written_is_said_at_the_end_of_the_turn() -> None:
    desk = Desk([reply("ok")])
    turn = desk.ask()
    desk.store.journals[turn.session].problem = "The disk is full."
    await turn.result()
    assert [event["text"] for event in desk.of("notice")] == ["The disk is full."]
    assert desk.kinds()[-1] == "turn.ended"


async def test_a_person_who_refuses_a_command_and_stops_ends_the_turn_with_every_call_answered() -> None:
    desk = Desk([reply("", call("run_command", command="make"), call("read_file", path="a"))])
    desk.editor.consents = [Consent(ConsentDecision.REFUSE, stop=True)]
    result = await desk.ask().result()
    assert (result.stop_reason, result.answer) == (
        StopReason.REFUSED,
        "You refused the command and stopped the turn.",
    )
    assert desk.ran == []
    assert len(desk.of("tool.returned")) == 2
    assert_whole(desk.conversation.session.messages)


async def test_half_a_surrogate_pair_in_a_tools_result_goes_to_the_model_as_it_is() -> None:
    desk = Desk([reply("", call("read_file", path="a")), reply("done")], texts={"a": "x = '\ud83d'"})
    result = await desk.ask().result()
    assert (result.stop_reason, result.answer) == (StopReason.ANSWERED, "done")
    sent = desk.model.requests[-1].messages[-1]
    assert sent.content == "x = '\ud83d'"
    assert_whole(desk.conversation.session.messages)


async def test_a_call_that_fills_the_window_by_itself_is_dropped_and_what_came_of_it_told() -> None:
    huge = reply("", call("write_file", path="a.py", content="x = 1\n" * 2000))
    desk = Desk([huge, reply("what was done"), reply("done")], settings=Settings(num_ctx=2048))
    result = await desk.ask("write it").result()
    assert (result.stop_reason, result.answer) == (StopReason.ANSWERED, "done")
    task = desk.model.requests[-1].messages[-1].content
    assert task.startswith("write it\n\n")
    assert "Your last step was too long to be kept" in task
    assert "write_file: Created a.py (+2000 -0). The user accepted it." in task
    assert_whole(desk.conversation.session.messages)
