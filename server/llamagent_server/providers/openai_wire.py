"""/v1/chat/completions in bytes: our request written, its stream read (llama.cpp, LM Studio, vLLM and the like)."""

import json
from collections.abc import Iterable, Iterator

from llamagent_server.agent.ports import ChatRequest, Delta
from llamagent_server.core.messages import (
    AssistantMessage,
    Finish,
    Json,
    Message,
    Reply,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from llamagent_server.errors import ModelFailed
from llamagent_server.providers.call_pieces import CallPieces
from llamagent_server.providers.client import encoded, garbage, incomplete
from llamagent_server.providers.failures import Place, to_error
from llamagent_server.providers.lines import MAX_LINE_BYTES, Garbage, Oversized, Record, parse_object
from llamagent_server.providers.ollama_wire import tool
from llamagent_server.providers.reply import ReplyBuilder
from llamagent_server.providers.said import read_value, token_count
from llamagent_server.providers.sse import Done, SseEvent, SseParser
from llamagent_server.providers.toolcalls import sent_arguments


def body(request: ChatRequest, *, say_think: bool) -> bytes:
    """The request, messages last. `say_think` False leaves out what only some servers know: whether to think."""
    options = request.options
    value: dict[str, Json] = {
        "model": request.model,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": options.num_predict,
        "temperature": options.temperature,
    }
    if say_think:
        value["chat_template_kwargs"] = {"enable_thinking": bool(options.think)}
        if isinstance(options.think, str):
            value["reasoning_effort"] = options.think
    if request.schema is not None:
        schema: Json = {"name": "reply", "strict": True, "schema": dict(request.schema)}
        value["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif request.tools:
        value["tools"] = [tool(spec) for spec in request.tools]
    value["messages"] = [_message(message) for message in request.messages]
    return encoded(value)


def _message(message: Message) -> Json:
    match message:
        case SystemMessage(content=content):
            return {"role": "system", "content": content}
        case UserMessage(content=content):
            return {"role": "user", "content": content}
        case AssistantMessage(content=content, tool_calls=()):
            return {"role": "assistant", "content": content}
        case AssistantMessage(content=content, tool_calls=calls):
            return {"role": "assistant", "content": content, "tool_calls": [_call(call) for call in calls]}
        case ToolMessage(call_id=call_id, name=name, content=content):
            return {"role": "tool", "tool_call_id": call_id, "name": name, "content": content}


def _call(call: ToolCall) -> Json:
    arguments = json.dumps(sent_arguments(call), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


class OpenAIReading:
    """The reading of one streamed reply."""

    def __init__(self, request: ChatRequest, place: Place) -> None:
        self._sse = SseParser()
        self._whole = bytearray()  # the body of a server that does not stream although asked to
        self._builder = ReplyBuilder(request)
        self._place = place
        self._calls = CallPieces()
        self._finish: str | None = None
        self._usage = Usage()
        self._done = False

    @property
    def done(self) -> bool:
        return self._done or self._builder.stuck

    @property
    def text(self) -> str:
        return self._builder.text

    def feed(self, data: bytes, content_type: str) -> Iterator[Delta]:
        if not content_type.startswith("application/json"):
            return self._take(self._sse.feed(data))
        self._whole += data
        return self._take([parse_object(Oversized(MAX_LINE_BYTES))] if len(self._whole) > MAX_LINE_BYTES else [])

    def close(self) -> Iterator[Delta]:
        whole = [parse_object(bytes(self._whole))] if self._whole.strip() else []
        yield from self._take([*self._sse.close(), *whole])
        # The closing mark is finish_reason; not every server sends [DONE] after it.
        if self._finish is None and not self._builder.stuck:
            raise incomplete(anything=not self._builder.empty)
        for call_id, name, arguments in self._calls:
            self._builder.call(call_id, name, arguments)
        yield from self._builder.close()

    def reply(self) -> Reply:
        return self._builder.reply(Finish.LENGTH if self._finish == "length" else Finish.STOP, self._usage)

    def _take(self, events: Iterable[SseEvent]) -> Iterator[Delta]:
        for event in events:
            if self.done:
                return  # whatever follows, in whatever pieces it comes, is no part of the reply
            match event:
                case Garbage():
                    raise garbage(event, self._place)
                case Done():
                    self._done = True
                case Record(value=value):
                    yield from self._record(value)

    def _record(self, value: dict[str, Json]) -> Iterator[Delta]:
        if value.get("error") is not None or value.get("object") == "error":
            raise to_error(read_value(200, value), self._place)
        self._note_usage(value)
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            yield from self._delta(delta)
        self._note_finish(choice.get("finish_reason"))

    def _delta(self, delta: dict[str, Json]) -> Iterator[Delta]:
        # vLLM renamed the field and for a while sent both.
        thinking = delta.get("reasoning_content") or delta.get("reasoning")
        content, calls = delta.get("content"), delta.get("tool_calls")
        if isinstance(thinking, str) and thinking:
            yield from self._builder.thinking(thinking)
        if isinstance(content, str) and content:
            yield from self._builder.content(content)
        for piece in calls if isinstance(calls, list) else ():
            if isinstance(piece, dict):
                self._builder.count(self._calls.add(piece))

    def _note_finish(self, reason: Json) -> None:
        if not isinstance(reason, str) or not reason:
            return
        if reason == "abort":
            raise ModelFailed("The model server gave up the reply.", hint="Try again.", retryable=True)
        if reason == "content_filter":
            raise ModelFailed("The model server's filter stopped the reply.", hint="Ask in other words.")
        self._finish = reason

    def _note_usage(self, value: dict[str, Json]) -> None:
        usage, timings = value.get("usage"), value.get("timings")
        if isinstance(usage, dict):
            details = usage.get("prompt_tokens_details")
            cached = token_count(details.get("cached_tokens")) if isinstance(details, dict) else None
            prompt, completion = token_count(usage.get("prompt_tokens")), token_count(usage.get("completion_tokens"))
            self._usage = Usage(prompt, completion, cached)
        elif isinstance(timings, dict):
            cached, fresh = token_count(timings.get("cache_n")), token_count(timings.get("prompt_n"))
            prompt = fresh + (cached or 0) if fresh is not None else None
            self._usage = Usage(prompt, token_count(timings.get("predicted_n")), cached)
