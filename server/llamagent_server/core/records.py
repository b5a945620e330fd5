"""The lines of a journal: how messages are written down, and how a conversation is read back from them.

type       fields
session    id, created, model, version: the first line
message    role and what that role carries, in the order of the conversation
event      event: one trace event as it was sent
compacted  messages: the whole conversation from here on
cleared    the conversation so far is forgotten
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from llamagent_server.core.messages import (
    AssistantMessage,
    Json,
    Message,
    Origin,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from llamagent_server.core.transcript import MalformedTranscript, Transcript

VERSION = 1
INTERRUPTED = "[no result: the session ended before this call was finished]"

Record = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Replayed:
    """A conversation as its journal tells it. `dropped` counts records that no conversation could contain."""

    messages: tuple[Message, ...]
    last_seq: int
    dropped: int = 0


def session_record(session: str, created: str, model: str) -> dict[str, Json]:
    return {"type": "session", "version": VERSION, "id": session, "created": created, "model": model}


def event_record(event: dict[str, Json]) -> dict[str, Json]:
    return {"type": "event", "event": event}


def compacted_record(messages: Iterable[Message]) -> dict[str, Json]:
    return {"type": "compacted", "messages": [_fields(message) for message in messages]}


def cleared_record() -> dict[str, Json]:
    return {"type": "cleared"}


def message_record(message: Message) -> dict[str, Json]:
    return {"type": "message"} | _fields(message)


def _fields(message: Message) -> dict[str, Json]:
    match message:
        case SystemMessage(content=content):
            return {"role": "system", "content": content}
        case UserMessage(content=content, task=task):
            return {"role": "user", "content": content, "task": task}
        case AssistantMessage(content=content, tool_calls=calls, thinking=thinking):
            return {
                "role": "assistant",
                "content": content,
                "thinking": thinking,
                "tool_calls": [_call_fields(call) for call in calls],
            }
        case ToolMessage(call_id=call_id, name=name, content=content):
            return {"role": "tool", "call_id": call_id, "name": name, "content": content}


def _call_fields(call: ToolCall) -> dict[str, Json]:
    return {
        "id": call.id,
        "name": call.name,
        "arguments": dict(call.arguments),
        "origin": call.origin.value,
        "problem": call.problem,
    }


def parse_message(record: Record) -> Message | None:
    """The message of a record, None where the record is none that we could have written."""
    content = record.get("content")
    if not isinstance(content, str):
        return None
    match record.get("role"):
        case "system":
            return SystemMessage(content)
        case "user":
            return UserMessage(content, task=record.get("task") is not False)
        case "assistant":
            thinking = record.get("thinking")
            calls = record.get("tool_calls") or []
            parsed = [_parse_call(call) for call in calls] if isinstance(calls, list) else []
            return AssistantMessage(
                content,
                tuple(call for call in parsed if call is not None),
                thinking if isinstance(thinking, str) else "",
            )
        case "tool":
            return ToolMessage(str(record.get("call_id")), str(record.get("name")), content)
        case _:
            return None


def _parse_call(value: Json) -> ToolCall | None:
    if not isinstance(value, dict):
        return None
    arguments, problem = value.get("arguments"), value.get("problem")
    origin = value.get("origin")
    return ToolCall(
        id=str(value.get("id")),
        name=str(value.get("name")),
        arguments=arguments if isinstance(arguments, dict) else {},
        origin=Origin(origin) if origin in tuple(Origin) else Origin.NATIVE,
        problem=problem if isinstance(problem, str) else None,
    )


@dataclass
class _Replay:
    transcript: Transcript = field(default_factory=Transcript)
    dropped: int = 0

    def add(self, message: Message | None) -> None:
        if message is None:
            self.dropped += 1
            return
        if not isinstance(message, ToolMessage):
            settle(self.transcript, INTERRUPTED)
        try:
            self.transcript.append(message)
        except MalformedTranscript:
            self.dropped += 1


def replay(records: Iterable[Record]) -> Replayed:
    """The conversation that `records` tell, well-formed whatever is missing from them."""
    state = _Replay()
    last_seq = -1
    for record in records:
        match record.get("type"):
            case "message":
                state.add(parse_message(record))
            case "compacted":
                state.transcript = Transcript()
                messages = record.get("messages")
                for fields in messages if isinstance(messages, list) else []:
                    state.add(parse_message(fields) if isinstance(fields, dict) else None)
            case "cleared":
                state.transcript = Transcript()
            case "event":
                event = record.get("event")
                seq = event.get("seq") if isinstance(event, dict) else None
                last_seq = max(last_seq, seq) if isinstance(seq, int) else last_seq
            case _:
                pass
    settle(state.transcript, INTERRUPTED)
    return Replayed(state.transcript.messages, last_seq, state.dropped)


def settle(transcript: Transcript, content: str) -> tuple[ToolMessage, ...]:
    """Give every call that has no result one that says why, and return these."""
    results = tuple(ToolMessage(call.id, call.name, content) for call in transcript.pending)
    for result in results:
        transcript.append(result)
    return results
