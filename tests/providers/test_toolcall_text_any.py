"""Calls written as text, whatever stands in them and around them: no crash, no call out of prose, no value changed."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.core.messages import Json
from llamagent_server.providers.toolcall_text import Recovered, recover
from tests.providers.test_toolcall_text import SPECS

NAMES = {spec.name for spec in SPECS}
MARKS = (
    "<tool_call> </tool_call> <tool_calls> <function_calls> </function_calls> <function=read_file> </function> "
    '<parameter=path> </parameter> <invoke name="read_file"> </invoke> <parameter name="path"> <arg_key> </arg_key> '
    "<arg_value> </arg_value> [TOOL_CALLS] [ARGS] [TOOL_REQUEST] [END_TOOL_REQUEST] <|tool_call_start|> "
    "<|tool_call_end|> <|python_tag|> <|channel|> <|message|> <|start|> <|end|> <|call|> <|constrain|> analysis final "
    "commentary to=functions.read_file <｜tool▁calls▁begin｜> <｜tool▁call▁begin｜> <｜tool▁sep｜> <｜tool▁call▁end｜> "
    '<|tool_call> <tool_call|> call:read_file{ <|"|> <start_function_call> <escape> <|START_ACTION|> <|END_ACTION|> '
    "<|tool_call|> <think> </think> <tool_response> </tool_response> Action: Observation: ``` ```json ```python "
    '```tool_code ~~~ { } [ ] ( ) , : ; " \' \\ {{ \\" \\n read_file bash str_replace fly read_file(path="a") '
    '{"name": "read_file" "arguments": {"path": "a.py"}} "parameters" "path" \'path\' "a.py" path= > ` “ ” functions. '
    '{"name":"run_command","arguments":{"command":"ls"}} [read_file(path=\'a\')] <function=run_command>{"command":"x"}'
).split(" ")
WORDS = ["the", "file", "reads", "a.py", "and", "so", "name", "arguments", "path", "tool", "1", "40", "ä", "\U0001f600"]
tokens = st.sampled_from([*MARKS, *MARKS, *WORDS, "\n", "\n", "\n\n", " ", "    ", "\t", "\r\n"])
shuffled = st.lists(tokens, max_size=40).map("".join) | st.lists(tokens, max_size=40).map(" ".join)


@given(shuffled, shuffled, st.booleans())
def test_no_text_is_too_much_and_only_declared_tools_come_out(content: str, thinking: str, cut: bool) -> None:
    outcome = recover(content, thinking, SPECS, cut=cut)
    if isinstance(outcome, Recovered):
        assert not cut
        assert {call.name for call in outcome.calls} <= NAMES
        assert content.startswith(outcome.content.rstrip()) or outcome.content in content
        json.dumps([dict(call.arguments) for call in outcome.calls])


@given(shuffled, st.sampled_from(["That is all.", "and so it is", "(see above)", "It is safe: nothing is run."]))
def test_no_call_comes_out_of_what_ends_with_words(content: str, words: str) -> None:
    content = content.replace("<tool_response>", "").replace("Observation:", "")  # an invented result goes to its end
    assert not isinstance(recover(f"{content}\n\n{words}", "", SPECS, cut=False), Recovered)


@given(st.text())
def test_any_text_is_read(content: str) -> None:
    recover(content, content, SPECS, cut=False)


def _json(name: str, arguments: dict[str, Json], key: str = "arguments") -> str:
    return json.dumps({"name": name, key: arguments}, ensure_ascii=False)


def _tagged(arguments: dict[str, Json], one: str) -> str:
    return "".join(one.format(key=key, value=value) for key, value in arguments.items())


FAMILIES: dict[str, Callable[[str, dict[str, Json]], str]] = {
    "hermes": lambda name, given: f"<tool_call>\n{_json(name, given)}\n</tool_call>",
    "hermes, no end": lambda name, given: f"<tool_call>{_json(name, given)}",
    "hermes, no beginning": lambda name, given: f"{_json(name, given)}\n</tool_call>",
    "hermes, arguments as text": lambda name, given: (
        "<tool_call>" + json.dumps({"name": name, "arguments": json.dumps(given)})
    ),
    "fence": lambda name, given: f"```json\n{_json(name, given)}\n```",
    "llama": lambda name, given: _json(name, given, "parameters"),
    "llama, function": lambda name, given: f"<function={name}>{json.dumps(given)}</function>",
    "mistral, old": lambda name, given: f"[TOOL_CALLS] [{_json(name, given)}]",
    "mistral": lambda name, given: f"[TOOL_CALLS]{name}[ARGS]{json.dumps(given)}",
    "lm studio": lambda name, given: f"[TOOL_REQUEST]{_json(name, given)}[END_TOOL_REQUEST]",
    "lfm2": lambda name, given: (
        f"<|tool_call_start|>[{name}({', '.join(f'{k}={v!r}' for k, v in given.items())})]<|tool_call_end|>"
    ),
    "harmony": lambda name, given: (
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{json.dumps(given)}<|call|>"
    ),
    "deepseek v3": lambda name, given: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n"
        f"{json.dumps(given)}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "deepseek v3.1": lambda name, given: (
        f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{json.dumps(given)}<｜tool▁call▁end｜>"
    ),
    "cohere": lambda name, given: (
        "<|START_ACTION|>"
        + json.dumps([{"tool_call_id": "0", "tool_name": name, "parameters": given}])
        + "<|END_ACTION|>"
    ),
    "granite": lambda name, given: f"<|tool_call|>[{_json(name, given)}]",
}
TAGGED: dict[str, Callable[[str, dict[str, Json]], str]] = {
    "qwen": lambda name, given: (
        f"<tool_call>\n<function={name}>\n"
        + _tagged(given, "<parameter={key}>\n{value}\n</parameter>\n")
        + "</function>\n</tool_call>"
    ),
    "qwen, ends missing": lambda name, given: (
        f"<function={name}>\n" + _tagged(given, "<parameter={key}>\n{value}\n</parameter>\n")
    ),
    "xml": lambda name, given: (
        f'<function_calls><invoke name="{name}">'
        + _tagged(given, '<parameter name="{key}">\n{value}\n</parameter>')
        + "</invoke></function_calls>"
    ),
    "glm": lambda name, given: (
        f"<tool_call>{name}\n"
        + _tagged(given, "<arg_key>{key}</arg_key>\n<arg_value>\n{value}\n</arg_value>\n")
        + "</tool_call>"
    ),
}
GEMMA: dict[str, Callable[[str, dict[str, Json]], str]] = {
    "gemma": lambda name, given: (
        f"<|tool_call>call:{name}{{"
        + ",".join(f'{key}:<|"|>{value}<|"|>' for key, value in given.items())
        + "}<tool_call|>"
    ),
}
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | shuffled
# With a word such as "string" for each value it would be the documentation of a tool.
values = st.fixed_dictionaries({"path": text.map(lambda path: f"{path}.py"), "content": text})
before = st.sampled_from(["", "I write it.\n\n", "```sh\nls\n```\nNow:\n", "Step 2: {write}\n"])


def check(write: Callable[[str, dict[str, Json]], str], given: dict[str, Json], before: str) -> None:
    outcome = recover(before + write("write_file", given), "", SPECS, cut=False)
    assert isinstance(outcome, Recovered), outcome
    assert [(call.name, dict(call.arguments)) for call in outcome.calls] == [("write_file", given)]
    assert outcome.content == before.rstrip()


@pytest.mark.parametrize("family", FAMILIES)
@given(given=values, before=before)
def test_what_is_quoted_as_it_should_be_comes_out_as_it_was(family: str, given: dict[str, Json], before: str) -> None:
    check(FAMILIES[family], given, before)


tagless = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<\r"), max_size=40) | st.lists(
    st.sampled_from(["<b>", "</b>", "<", "&amp;", "a < b", "{", "}", '"', "\n", "  ", "<parameter>", "x", "```"]),
    max_size=12,
).map("".join)


@pytest.mark.parametrize("family", TAGGED)
@given(given=st.fixed_dictionaries({"path": tagless, "content": tagless}), before=before)
def test_a_value_between_tags_comes_out_as_it_was(family: str, given: dict[str, Json], before: str) -> None:
    check(TAGGED[family], given, before)


@given(given=st.fixed_dictionaries({"path": tagless, "content": tagless}), before=before)
def test_a_value_between_quote_tokens_comes_out_as_it_was(given: dict[str, Json], before: str) -> None:
    check(GEMMA["gemma"], given, before)
