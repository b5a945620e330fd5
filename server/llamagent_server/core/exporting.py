"""A stored conversation as a document: Markdown for people, with the diffs of its edits, or one JSON object."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from llamagent_server.core.messages import AssistantMessage, Json, JsonObject, Message, ToolMessage, UserMessage
from llamagent_server.core.records import message_record, parse_message, replay

MARKDOWN, JSON = "markdown", "json"
_RESULT_LINES = 40  # of a tool's result; the JSON has all of it
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Conversation:
    """`records` are the lines of its journal."""

    session: str
    title: str
    records: Sequence[JsonObject]


def document(conversation: Conversation, form: str) -> str:
    """`form` is MARKDOWN or JSON."""
    return as_json(conversation) if form == JSON else markdown(conversation)


# --- JSON ----------------------------------------------------------------------------------------------------------


def as_json(conversation: Conversation) -> str:
    """The messages as they would be gone on with, and every stored event."""
    header = _header(conversation)
    whole: dict[str, Json] = {
        "session": conversation.session,
        "title": conversation.title,
        "created": header.get("created"),
        "model": header.get("model"),
        "messages": [_message(message) for message in replay(conversation.records).messages],
        "events": [event for record in conversation.records if isinstance(event := record.get("event"), dict)],
    }
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def _message(message: Message) -> dict[str, Json]:
    return {key: value for key, value in message_record(message).items() if key != "type"}


def _header(conversation: Conversation) -> JsonObject:
    first = conversation.records[0] if conversation.records else {}
    return first if first.get("type") == "session" else {}


# --- Markdown ------------------------------------------------------------------------------------------------------


def markdown(conversation: Conversation) -> str:
    header = _header(conversation)
    facts = [f"conversation `{conversation.session}`"]
    facts += [f"{key} {value}" for key in ("created", "model") if (value := _text(header, key))]
    parts = [f"# {conversation.title or 'Conversation'}", ", ".join(facts), *_told(conversation.records)]
    return "\n\n".join(_visible(part.strip("\n")) for part in parts if part.strip()) + "\n"


def _told(records: Iterable[JsonObject]) -> Iterator[str]:
    """Within a turn its events tell what happened; what stands outside of turns are messages."""
    in_turn = False
    for record in records:
        match record.get("type"):
            case "event":
                event = record.get("event")
                if isinstance(event, dict):
                    in_turn = event.get("kind") != "turn.ended"
                    yield from _event(event)
            case "message" if not in_turn and (message := parse_message(record)) is not None:
                yield from _spoken(message)
            case "compacted":
                yield "> The conversation so far was summed up to make room."
            case "rewound":
                yield f"> From here on the conversation goes on from before the turn `{_text(record, 'turn')}`."
            case "cleared":
                yield "> The conversation so far was forgotten."
            case _:
                pass


def _spoken(message: Message) -> Iterator[str]:
    match message:
        case UserMessage(content=content):
            yield f"## You\n\n{content}"
        case AssistantMessage(content=content, tool_calls=calls):
            yield f"## Model\n\n{content}" if content.strip() else "## Model"
            for call in calls:
                yield _call(call.name, call.arguments)
        case ToolMessage(name=name, content=content):
            yield f"`{name}` returned:\n\n{_fenced(_shortened(content))}"
        case _:
            pass


def _event(event: JsonObject) -> Iterator[str]:
    match event.get("kind"):
        case "turn.started" | "turn.steered":
            yield f"## You\n\n{_text(event, 'text')}"
            if isinstance(files := event.get("files"), list) and files:
                yield f"With {', '.join(f'`{file}`' for file in files)}."
        case "model.replied":
            yield from _replied(event)
        case "harness.decided" if event.get("decision") in ("refuse", "nudge", "stop", "compact"):
            yield f"> {_text(event, 'decision')}: {_quoted(_text(event, 'reason'))}"
        case "tool.returned":
            how = "returned" if event.get("ok") is True else "failed"
            yield f"`{_text(event, 'name')}` {how}:\n\n{_fenced(_shortened(_text(event, 'content')))}"
        case "edit.proposed":
            yield f"Proposed edit:\n\n{_fenced(_text(event, 'diff'), 'diff')}"
        case "edit.resolved":
            yield from _resolved(event)
        case "notice":
            yield f"> {_quoted(_text(event, 'text'))}"
        case "turn.ended":
            yield _ended(event)


def _replied(event: JsonObject) -> Iterator[str]:
    content = _text(event, "content")
    yield f"## Model\n\n{content}" if content.strip() else "## Model"
    calls = event.get("toolCalls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            arguments = call.get("arguments")
            yield _call(_text(call, "name"), arguments if isinstance(arguments, dict) else {})


def _resolved(event: JsonObject) -> Iterator[str]:
    reason = _text(event, "reason")
    yield f"The edit was **{_text(event, 'outcome')}**{f': {reason}' if reason else ''}."
    if diff := _text(event, "diff"):
        yield f"What changed:\n\n{_fenced(diff, 'diff')}"


def _ended(event: JsonObject) -> str:
    if error := _text(event, "error"):
        return f"> The turn failed: {_quoted(error)}"
    reason, steps = _text(event, "stopReason"), event.get("steps")
    words = f"*{reason}, {steps} {'step' if steps == 1 else 'steps'}*"
    return words if reason == "answered" else f"{words}\n\n{_text(event, 'answer')}"


def _call(name: str, arguments: Mapping[str, Json]) -> str:
    return f"calls `{name}`:\n\n{_fenced(json.dumps(dict(arguments), ensure_ascii=False, indent=1), 'json')}"


def _fenced(text: str, language: str = "") -> str:
    """A block whose end `text` cannot forge."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def _shortened(text: str) -> str:
    lines = text.split("\n")
    rest = len(lines) - _RESULT_LINES
    return text if rest <= 0 else "\n".join([*lines[:_RESULT_LINES], f"[... {rest} more lines]"])


def _quoted(text: str) -> str:
    return text.strip().replace("\n", "\n> ")


def _visible(text: str) -> str:
    """What could act on a terminal or hide a part of the text is written as an escape."""
    plain = text.replace("\r\n", "\n")
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), plain)


def _text(record: JsonObject, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""
