"""Steps that are constrained by a schema: the request, the reply read back, the answer's text as it streams."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.agent.constrained import Answer, AnswerText, Malformed, as_messages, parse, schema
from llamagent_server.agent.examples import EXAMPLES
from llamagent_server.agent.prompt import general, system_prompt
from llamagent_server.core.messages import (
    AssistantMessage,
    Origin,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from tests.agent.doubles import spec

TOOLS = (
    spec("read_file", ["path"], path="string", start="integer"),
    spec("run_command", ["command"], command="string"),
)
CALL = ToolCall("c1", "read_file", {"path": "a"})
TALK = (
    SystemMessage("Be good."),
    UserMessage("Look"),
    AssistantMessage("", (CALL,)),
    ToolMessage("c1", "read_file", "A"),
)


def test_the_schema_has_one_choice_for_each_tool_and_one_for_the_answer() -> None:
    choices = schema(TOOLS)["anyOf"]
    assert isinstance(choices, list)
    assert [sorted(choice["properties"]) for choice in choices] == [  # type: ignore[index,call-overload,arg-type]
        ["arguments", "tool"],
        ["arguments", "tool"],
        ["answer"],
    ]


def test_a_conversation_becomes_plain_messages_in_turn() -> None:
    system, *_, user, made, result = as_messages(TALK, TOOLS)
    assert "- read_file(path, start?): read_file." in system.content
    assert user == UserMessage("Look")
    assert made == AssistantMessage('{"tool": "read_file", "arguments": {"path": "a"}}')
    assert result == UserMessage("Task: Look\nResult of read_file:\n```\nA\n```", task=False)


def test_an_earlier_request_is_a_prefix_of_a_later_one() -> None:
    later = as_messages((*TALK, AssistantMessage("It is A."), UserMessage("Sure?")), TOOLS)
    earlier = as_messages(TALK, TOOLS)
    assert later[: len(earlier)] == earlier


def test_the_general_words_make_way_for_short_ones_and_the_rest_stays() -> None:
    system, *_ = as_messages((SystemMessage(system_prompt(project="The folder is x.", locale="de")),), TOOLS)
    assert general() not in system.content
    assert system.content.endswith("Answer in German.\n\nThe folder is x.")
    assert len(system.content) < 500


def test_examples_follow_the_system_message_when_their_tools_are_there() -> None:
    tools = (spec("read_file", ["path"], path="string"),)
    roles = [type(message).__name__ for message in as_messages(TALK[:2], tools)]
    used = [step for example in EXAMPLES for step in example.messages(tools)]
    assert used
    assert roles == ["SystemMessage", *[type(m).__name__.replace("Tool", "User") for m in used], "UserMessage"]
    assert all(isinstance(parse(m.content, tools, str), ToolCall | Answer) for m in as_messages(TALK[:1], tools)[2::2])


def test_only_the_beginning_of_a_task_is_repeated() -> None:
    talk = (
        UserMessage("Look " + "x" * 500 + "\nmore"),
        AssistantMessage("", (CALL,)),
        ToolMessage("c1", "read_file", "A"),
    )
    assert len(as_messages(talk, TOOLS)[-1].content) < 250


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"answer": "done"}', Answer("done")),
        (
            ' {"tool": "read_file", "arguments": {"path": "a"}} ',
            ToolCall("id", "read_file", {"path": "a"}, Origin.SCHEMA),
        ),
        ('{"tool": "read_file"}', ToolCall("id", "read_file", {}, Origin.SCHEMA)),
        ("Just words.", Answer("Just words.")),
    ],
)
def test_a_reply_is_read_back(content, expected) -> None:  # type: ignore[no-untyped-def]
    assert parse(content, TOOLS, lambda _: "id") == expected


@pytest.mark.parametrize("content", ["", '{"answer": "cut', '{"tool": 3}', "[]", '{"answer": 3}', '{"tool": "fly"}'])
def test_what_is_neither_a_call_nor_an_answer_is_told(content: str) -> None:
    assert isinstance(parse(content, TOOLS, lambda _: "id"), Malformed)


@given(st.text(), st.data())
def test_the_answers_text_streams_whole_however_it_is_cut(text: str, data: st.DataObject) -> None:
    for ensure_ascii in (True, False):
        wire = json.dumps({"answer": text}, ensure_ascii=ensure_ascii)
        feed = AnswerText()
        seen, at = "", 0
        while at < len(wire):
            size = data.draw(st.integers(1, 9))
            seen += feed.feed(wire[at : at + size])
            at += size
        assert seen == text


@pytest.mark.parametrize("text", [r"a\ud83d b", r"a\ud83d\u0041", r"a\ud83d", r"a\ude00", r"\ud83d\ud83d\ude00"])
def test_half_a_surrogate_pair_streams_as_it_is_and_loses_nothing_behind_it(text: str) -> None:
    wire = f'{{"answer": "{text}"}}'
    feed = AnswerText()
    assert "".join(feed.feed(character) for character in wire) == json.loads(f'"{text}"')


def test_a_call_streams_nothing() -> None:
    assert AnswerText().feed('{"tool": "read_file", "arguments": {"path": "\\"answer\\": \\"x"}}') == ""
