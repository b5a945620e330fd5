"""Calls written as text: the banks of cases, as a reply takes them on its whole way to the loop."""

from collections.abc import Mapping
from typing import Any

import pytest

from llamagent_server.agent.arguments import BadArguments, check
from llamagent_server.agent.ports import ChatOptions, ChatRequest
from llamagent_server.core.messages import (
    Finish,
    Message,
    Origin,
    Reply,
    ToolSpec,
    Usage,
)
from llamagent_server.providers.reply import ReplyBuilder
from llamagent_server.tools.base import TOOLS, Means

SPECS = tuple(make(Means(None, None, None)).spec for make in TOOLS)  # type: ignore[arg-type]
OPTIONS = ChatOptions(num_ctx=8192, num_predict=100_000, temperature=0.2)


def built(
    content: str,
    *,
    thinking: str = "",
    finish: str = "stop",
    tools: tuple[ToolSpec, ...] = SPECS,
    before: tuple[Message, ...] = (),
) -> Reply:
    """The reply that a provider makes of a stream of these texts."""
    builder = ReplyBuilder(ChatRequest("m", before, tools, OPTIONS))
    builder.thinking(thinking)
    for at in range(0, len(content), 7):
        builder.content(content[at : at + 7])
    builder.close()
    return builder.reply(Finish(finish), Usage())


def meaning(reply: Reply) -> Mapping[str, Any]:
    """What the reply comes to, in the words of the banks. Calls that their tools do not accept are refused."""
    checked = [check(_spec(call.name), call.arguments) for call in reply.tool_calls]
    if any(isinstance(one, BadArguments) for one in checked):
        return {"malformed": True}
    if checked:
        names = [call.name for call in reply.tool_calls]
        return {"calls": [{"name": name, "arguments": one.arguments} for name, one in zip(names, checked, strict=True)]}
    if reply.problem is not None and not reply.problem.startswith("There is no tool"):
        return {"malformed": True}
    return {"text": True}


def _spec(name: str) -> ToolSpec:
    return next(spec for spec in SPECS if spec.name == name)


@pytest.mark.cases("toolcalls.jsonl", "toolcalls_more.jsonl")
def test_a_reply_means_what_the_case_says(case: dict[str, Any]) -> None:
    reply = built(case["content"], thinking=case.get("thinking", ""), finish=case["finish"])
    assert meaning(reply) == case["expect"], (reply, case["why"])
    assert all(call.origin is Origin.TEXT for call in reply.tool_calls)
    assert reply.problem is None or "\n" not in reply.problem
