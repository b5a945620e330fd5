"""Ollama's /api/chat in bytes: our request written, its stream read."""

from collections.abc import Iterator

from llamagent_server.agent.ports import ChatOptions, ChatRequest, Delta
from llamagent_server.core.messages import (
    AssistantMessage,
    Finish,
    Json,
    Message,
    Reply,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Usage,
    UserMessage,
)
from llamagent_server.providers.client import encoded, garbage, incomplete
from llamagent_server.providers.cloud import cloud_refused
from llamagent_server.providers.failures import Place, to_error
from llamagent_server.providers.lines import Garbage, Record
from llamagent_server.providers.ndjson import NdjsonParser
from llamagent_server.providers.reply import ReplyBuilder
from llamagent_server.providers.said import read_value, token_count
from llamagent_server.providers.toolcalls import sent_arguments


def body(request: ChatRequest, *, think: bool | str) -> bytes:
    """The request. The messages come last: all before them stays the same, so each request begins with the last one."""
    options = request.options
    value: dict[str, Json] = {
        "model": request.model,
        "stream": True,
        "think": think,
        "keep_alive": _keep_alive(options),
        # Without these the server drops messages, or cuts the middle out of the prompt, and says nothing.
        "truncate": False,
        "shift": False,
        "options": {
            "num_ctx": options.num_ctx,
            "num_predict": options.num_predict,
            "temperature": options.temperature,
        },
    }
    if request.schema is not None:
        value["format"] = dict(request.schema)
    elif request.tools:
        value["tools"] = [tool(spec) for spec in request.tools]
    value["messages"] = [_message(message) for message in request.messages]
    return encoded(value)


def _keep_alive(options: ChatOptions) -> Json:
    """A Go duration is a string, a number of seconds is a number: "300" would be refused."""
    try:
        return int(options.keep_alive)
    except ValueError:
        return options.keep_alive


def tool(spec: ToolSpec) -> Json:
    function: Json = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": function}


def _message(message: Message) -> Json:
    """Thoughts are not sent back: they cost the window, and most templates drop them from earlier turns, which would
    change the prefix that the server has cached."""
    match message:
        case SystemMessage(content=content):
            return {"role": "system", "content": content}
        case UserMessage(content=content):
            return {"role": "user", "content": content}
        case AssistantMessage(content=content, tool_calls=()):
            return {"role": "assistant", "content": content}
        case AssistantMessage(content=content, tool_calls=calls):
            return {"role": "assistant", "content": content, "tool_calls": [*map(_call, range(len(calls)), calls)]}
        case ToolMessage(call_id=call_id, name=name, content=content):
            return {"role": "tool", "tool_name": name, "tool_call_id": call_id, "content": content}


def _call(index: int, call: ToolCall) -> Json:
    return {"id": call.id, "function": {"index": index, "name": call.name, "arguments": sent_arguments(call)}}


class OllamaReading:
    """The reading of one streamed reply. `allow_cloud` False: a reply from elsewhere is refused at its first line."""

    def __init__(self, request: ChatRequest, place: Place, *, allow_cloud: bool) -> None:
        self._parser = NdjsonParser()
        self._builder = ReplyBuilder(request)
        self._place = place
        self._allow_cloud = allow_cloud
        self._last: dict[str, Json] = {}

    @property
    def done(self) -> bool:
        return bool(self._last) or self._builder.stuck

    @property
    def text(self) -> str:
        return self._builder.text

    def feed(self, data: bytes, content_type: str) -> Iterator[Delta]:  # noqa: ARG002 -- one parser reads both types
        return self._take(self._parser.feed(data))

    def close(self) -> Iterator[Delta]:
        yield from self._take(self._parser.close())
        if not self.done:
            raise incomplete(anything=not self._builder.empty)
        yield from self._builder.close()

    def reply(self) -> Reply:
        cut = self._last.get("done_reason") == "length"
        usage = Usage(token_count(self._last.get("prompt_eval_count")), token_count(self._last.get("eval_count")))
        return self._builder.reply(Finish.LENGTH if cut else Finish.STOP, usage)

    def _take(self, events: list[Record | Garbage]) -> Iterator[Delta]:
        for event in events:
            if self.done:
                return
            if isinstance(event, Garbage):
                raise garbage(event, self._place)
            yield from self._record(event.value)

    def _record(self, value: dict[str, Json]) -> Iterator[Delta]:
        if value.get("error") is not None:
            raise to_error(read_value(200, value), self._place)
        if value.get("remote_host") and not self._allow_cloud:
            raise cloud_refused(self._place.model, str(value["remote_host"]))
        message = value.get("message")
        if isinstance(message, dict):
            yield from self._message(message)
        if value.get("done") is True:
            self._last = value

    def _message(self, message: dict[str, Json]) -> Iterator[Delta]:
        thinking, content, calls = message.get("thinking"), message.get("content"), message.get("tool_calls")
        if isinstance(thinking, str) and thinking:
            yield from self._builder.thinking(thinking)
        if isinstance(content, str) and content:
            yield from self._builder.content(content)
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(call, dict) and isinstance(function, dict):
                self._builder.call(call.get("id"), function.get("name"), function.get("arguments"))
