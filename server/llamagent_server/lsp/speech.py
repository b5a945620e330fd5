"""Which parts of what leaves are words for the person, and have them said in their language; everything else stays.

Errors pass `error` in the protocol, events `event`, results of commands `result`; messages, problems in files and
progress call the protocol's `say` where they are sent. Logs, the journal and the model have the English.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import cast

from llamagent_server.core.events import Decision, StopReason
from llamagent_server.core.messages import Json
from llamagent_server.lsp.catalogue import Say

_NOTES = re.compile(r"(?P<text>.+) \((?P<notes>.+?)\)")


def error(say: Say, failure: dict[str, Json]) -> dict[str, Json]:
    """The `error` of a reply."""
    data = failure.get("data")
    told = _with(say, failure, ("message",))
    return told | {"data": _with(say, data, ("hint",))} if isinstance(data, dict) else told


def lines(say: Say, text: str) -> str:
    """A text of several lines, each a sentence or more of its own. A mark of a list stays, and so does what a colon
    divides from what is said of it."""

    def one(line: str) -> str:
        mark = "- " if line.startswith("- ") else ""
        rest = line.removeprefix(mark)
        if (whole := say(rest)) != rest:
            return mark + whole
        name, colon, words = rest.partition(": ")
        return f"{mark}{say(name)}{colon}{say(words)}"

    return "\n".join(map(one, text.split("\n")))


def result(say: Say, value: dict[str, Json]) -> dict[str, Json]:
    """What a command answers, but for what the model or the person said."""
    told = _with(say, _ended(say, value) if "stopReason" in value else value, ("note", "reason"))
    for key, spoken in _LISTS.items():
        if isinstance(rows := told.get(key), list):
            told[key] = [spoken(say, row) for row in rows]
    return told


def event(say: Say, told: Mapping[str, Json]) -> dict[str, Json]:
    """An event of the trace."""
    spoken = _EVENTS.get(str(told.get("kind")))
    return dict(told) if spoken is None else spoken(say, told)


def _decided(say: Say, told: Mapping[str, Json]) -> dict[str, Json]:
    """What reminds the model is shown as the model reads it."""
    reason = told.get("reason")
    if told.get("decision") == Decision.NUDGE or not isinstance(reason, str):
        return dict(told)
    return {**told, "reason": _noted(say, reason)}


def _noted(say: Say, text: str) -> str:
    """A text whose last words may be notes in brackets: these by themselves."""
    said = say(text)
    if said != text or (parts := _NOTES.fullmatch(text)) is None:
        return said
    notes = "; ".join(map(say, parts["notes"].split("; ")))
    return f"{_noted(say, parts['text'])} ({notes})"


def _proposed(say: Say, told: Mapping[str, Json]) -> dict[str, Json]:
    files = told.get("files")
    noted = [_with(say, file, ("note",)) if isinstance(file, dict) else file for file in _list(files)]
    return {**told, "files": cast(Json, noted)}


def _ended(say: Say, told: Mapping[str, Json]) -> dict[str, Json]:
    """The answer is the model's, unless the harness ended the turn."""
    ours = told.get("stopReason") not in (StopReason.ANSWERED, StopReason.CANCELLED)
    return _with(say, told, ("error", "answer") if ours else ("error",))


_EVENTS: Mapping[str, Callable[[Say, Mapping[str, Json]], dict[str, Json]]] = {
    "notice": lambda say, told: {**told, "text": lines(say, str(told.get("text")))},
    "harness.decided": _decided,
    "edit.proposed": _proposed,
    "edit.resolved": lambda say, told: _with(say, told, ("reason",)),
    "turn.ended": _ended,
}


def _problem(say: Say, row: Json) -> Json:
    return lines(say, row) if isinstance(row, str) else row


def _command(say: Say, row: Json) -> Json:
    return _with(say, row, ("title", "help")) if isinstance(row, dict) else row


def _completion(say: Say, row: Json) -> Json:
    return _with(say, row, ("detail",)) if isinstance(row, dict) else row


def _stored(say: Say, row: Json) -> Json:
    return event(say, row) if isinstance(row, dict) else row


# Of results: the lists whose rows hold words.
_LISTS: Mapping[str, Callable[[Say, Json], Json]] = {
    "problems": _problem,
    "commands": _command,
    "events": _stored,
    "items": _completion,
}


def _with(say: Say, record: Mapping[str, Json], keys: Iterable[str]) -> dict[str, Json]:
    """`record` with what stands under `keys` said."""
    return dict(record) | {key: say(value) for key in keys if isinstance(value := record.get(key), str)}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
