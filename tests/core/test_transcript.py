"""A conversation that can never become malformed, whatever is appended in whatever order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.core.messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, UserMessage
from llamagent_server.core.records import message_record, replay, settle
from llamagent_server.core.transcript import MalformedTranscript, Transcript

CALL = ToolCall("c1", "read_file", {"path": "a"})
OTHER = ToolCall("c2", "read_file", {"path": "b"})
ids = st.sampled_from(["c1", "c2", "c3"])
calls = st.lists(st.builds(ToolCall, ids, st.just("read_file"), st.just({"path": "a"})), max_size=3).map(tuple)
messages = st.one_of(
    st.builds(SystemMessage, st.text(max_size=5)),
    st.builds(UserMessage, st.text(max_size=5), st.booleans()),
    st.builds(AssistantMessage, st.text(max_size=5), calls, st.text(max_size=5)),
    st.builds(ToolMessage, ids, st.just("read_file"), st.text(max_size=5)),
)


@pytest.mark.parametrize(
    ("before", "refused"),
    [
        ([], AssistantMessage("hello")),
        ([], ToolMessage("c1", "read_file", "text")),
        ([UserMessage("hi")], SystemMessage("late")),
        ([UserMessage("hi"), AssistantMessage("", (CALL,))], UserMessage("and?")),
        ([UserMessage("hi"), AssistantMessage("", (CALL,))], AssistantMessage("done")),
        ([UserMessage("hi"), AssistantMessage("", (CALL,))], ToolMessage("c9", "read_file", "text")),
        ([UserMessage("hi"), AssistantMessage("hello")], AssistantMessage("again")),
        ([UserMessage("hi")], AssistantMessage("", (CALL, CALL))),
        (
            [UserMessage("hi"), AssistantMessage("", (CALL, OTHER)), ToolMessage("c1", "read_file", "text")],
            ToolMessage("c1", "read_file", "twice"),
        ),
    ],
)
def test_what_may_not_follow_is_refused_and_changes_nothing(before, refused) -> None:  # type: ignore[no-untyped-def]
    transcript = Transcript(before)
    with pytest.raises(MalformedTranscript):
        transcript.append(refused)
    assert transcript.messages == tuple(before)


def test_results_may_come_in_any_order() -> None:
    transcript = Transcript([UserMessage("hi"), AssistantMessage("", (CALL, OTHER))])
    transcript.append(ToolMessage("c2", "read_file", "b"))
    assert transcript.pending == (CALL,)
    transcript.append(ToolMessage("c1", "read_file", "a"))
    transcript.append(AssistantMessage("done"))
    assert transcript.pending == ()


@given(st.lists(messages, max_size=12))
def test_whatever_is_written_down_replays_to_a_whole_conversation(written) -> None:  # type: ignore[no-untyped-def]
    told = replay([message_record(message) for message in written])
    again = Transcript(told.messages)
    assert again.pending == ()
    assert settle(again, "late") == ()


@given(st.lists(messages, max_size=12))
def test_a_well_formed_conversation_replays_to_itself(written) -> None:  # type: ignore[no-untyped-def]
    transcript = Transcript()
    for message in written:
        try:
            transcript.append(message)
        except MalformedTranscript:
            continue
    settle(transcript, "closed")
    told = replay([message_record(message) for message in transcript.messages])
    assert told.messages == transcript.messages
    assert told.dropped == 0
