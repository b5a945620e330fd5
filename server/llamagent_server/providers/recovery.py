"""A whole reply without calls of the server's own, read for calls that the model wrote as text."""

import re
from dataclasses import replace

from llamagent_server.agent.ports import ChatRequest
from llamagent_server.core.messages import AssistantMessage, Finish, Origin, Reply, ToolCall
from llamagent_server.providers.toolcall_text import Malformed, NotACall, Recovered, recover
from llamagent_server.providers.toolcalls import make_call

QUOTED = (
    "The tool call in your reply stands word for word in a text that you were given, so it was not run. If you mean it,"
    " call the tool in your own way; if not, answer in words."
)
# A shorter call may well stand somewhere by chance.
_LEAST_QUOTED = 20


def with_text_calls(reply: Reply, request: ChatRequest, taken: set[str]) -> Reply:
    """`reply` with the calls in its text made calls, or with its `problem` where none may be made of what looks like
    one. `taken`: the call ids in use, to which theirs are added."""
    cut = reply.finish is Finish.LENGTH
    match recover(reply.content, reply.thinking, request.tools, cut=cut):
        case Recovered(calls=found, content=content, thinking=thinking, source=source):
            if _quoted(source, request):
                return replace(reply, problem=QUOTED)
            calls = tuple(_call(call.name, dict(call.arguments), taken) for call in found)
            return replace(reply, content=content, thinking=thinking, tool_calls=calls, finish=Finish.TOOL_CALLS)
        case Malformed(message=message):
            return replace(reply, problem=message)
        case NotACall(content=content, thinking=thinking, problem=problem):
            return replace(reply, content=content, thinking=thinking, problem=problem)


def _call(name: str, arguments: object, taken: set[str]) -> ToolCall:
    return replace(make_call(None, name, arguments, taken), origin=Origin.TEXT)


def _quoted(source: str, request: ChatRequest) -> bool:
    """Whether the text of the calls was read from a file, a command's output, an attachment, or a project's notes (in
    the system message)."""
    words = _plain(source)
    given = (message.content for message in request.messages if not isinstance(message, AssistantMessage))
    return len(words) >= _LEAST_QUOTED and any(words in _plain(text) for text in given)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
