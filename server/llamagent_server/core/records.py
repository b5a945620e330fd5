"""The lines of a journal: how messages are written down, and how a conversation is read back from them.

type       fields
session    id, created, model, version: the first line
turn       id, mode: a turn begins
message    role and what that role carries, in the order of the conversation
event      event: one trace event as it was sent
compacted  messages: the whole conversation from here on
cleared    the conversation so far is forgotten
rewound    turn: from here on the conversation is what it was before that turn
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

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
class TurnMark:
    """A turn in its conversation: the first `length` messages of `before` are what it began with.

    `text` is what the model got, `shown` what the person typed, `files` what went along.
    """

    before: Transcript
    length: int
    mode: str = ""
    text: str = ""
    shown: str = ""
    files: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.before.first(self.length)


@dataclass(frozen=True, slots=True)
class Replayed:
    """A conversation as its journal tells it. `dropped` counts records that no conversation could contain. `turns` are
    those that are still a part of it, by their ids, in their order."""

    transcript: Transcript
    last_seq: int
    dropped: int = 0
    turns: Mapping[str, TurnMark] = field(default_factory=dict)

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.transcript.messages


def kept_before(turns: Mapping[str, TurnMark], turn: str) -> dict[str, TurnMark]:
    """Those of `turns` that came before `turn`."""
    names = list(turns)
    return {name: turns[name] for name in names[: names.index(turn)]}


def session_record(session: str, created: str, model: str) -> dict[str, Json]:
    return {"type": "session", "version": VERSION, "id": session, "created": created, "model": model}


def event_record(event: dict[str, Json]) -> dict[str, Json]:
    return {"type": "event", "event": event}


def compacted_record(messages: Iterable[Message]) -> dict[str, Json]:
    return {"type": "compacted", "messages": [_fields(message) for message in messages]}


def cleared_record() -> dict[str, Json]:
    return {"type": "cleared"}


def turn_record(turn: str, mode: str) -> dict[str, Json]:
    return {"type": "turn", "id": turn, "mode": mode}


def rewound_record(turn: str) -> dict[str, Json]:
    return {"type": "rewound", "turn": turn}


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
    turns: dict[str, TurnMark] = field(default_factory=dict)
    wordless: str | None = None  # the turn whose task is the next message of the person

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
        if self.wordless is not None and isinstance(message, UserMessage) and message.task:
            self.turns[self.wordless] = replace(self.turns[self.wordless], text=message.content)
            self.wordless = None

    def begin(self, turn: str, mode: str = "") -> None:
        settle(self.transcript, INTERRUPTED)
        self.turns[turn] = TurnMark(self.transcript, len(self.transcript), mode)
        self.wordless = turn

    def started(self, event: Mapping[str, Json]) -> None:
        """The event `turn.started`. Older journals have no other sign of a turn."""
        turn, files = str(event.get("turn")), event.get("files")
        if turn not in self.turns:
            self.begin(turn)
        named = tuple(map(str, files)) if isinstance(files, list) else ()
        self.turns[turn] = replace(self.turns[turn], shown=str(event.get("text") or ""), files=named)

    def rewind(self, turn: str) -> None:
        if turn in self.turns:
            self.transcript = Transcript(self.turns[turn].messages)
            self.turns = kept_before(self.turns, turn)

    def clear(self) -> None:
        self.transcript = Transcript()
        self.turns = {}


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
                state.clear()
            case "turn":
                state.begin(str(record.get("id")), str(record.get("mode") or ""))
            case "rewound":
                state.rewind(str(record.get("turn")))
            case "event":
                event = record.get("event")
                seq = event.get("seq") if isinstance(event, dict) else None
                last_seq = max(last_seq, seq) if isinstance(seq, int) else last_seq
                if isinstance(event, dict) and event.get("kind") == "turn.started":
                    state.started(event)
            case _:
                pass
    settle(state.transcript, INTERRUPTED)
    return Replayed(state.transcript, last_seq, state.dropped, state.turns)


def settle(transcript: Transcript, content: str) -> tuple[ToolMessage, ...]:
    """Give every call that has no result one that says why, and return these."""
    results = tuple(ToolMessage(call.id, call.name, content) for call in transcript.pending)
    for result in results:
        transcript.append(result)
    return results
