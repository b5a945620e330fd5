"""Tool calls of /v1/chat/completions, put together from the pieces in which they are streamed. No I/O."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from llamagent_server.core.messages import Json


@dataclass(slots=True)
class _Call:
    """`text`: the arguments in pieces; `value`: the arguments of a server that sends an object."""

    call_id: str = ""
    name: str = ""
    text: list[str] = field(default_factory=list)
    value: dict[str, Json] | None = None

    @property
    def arguments(self) -> dict[str, Json] | str:
        return self.value if self.value is not None else "".join(self.text)

    @property
    def complete(self) -> bool:
        try:
            return self.value is not None or isinstance(json.loads("".join(self.text)), dict)
        except (ValueError, RecursionError):
            return False


class CallPieces:
    """Iterating gives (id, name, arguments) of each call, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def __iter__(self) -> Iterator[tuple[str, str, dict[str, Json] | str]]:
        return ((call.call_id, call.name, call.arguments) for call in self._calls)

    def add(self, piece: dict[str, Json]) -> str:
        """Take one element of a delta's `tool_calls`; the text of arguments that it brought."""
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        call_id, name, arguments = _text(piece.get("id")), _text(function.get("name")), function.get("arguments")
        index = piece.get("index")
        call = self._call(index if isinstance(index, int) else None, call_id, name, whole=bool(arguments))
        call.call_id = call.call_id or call_id
        call.name = call.name or name
        if isinstance(arguments, dict):
            call.value = arguments
        else:
            call.text.append(_text(arguments))
        return _text(arguments)

    def _call(self, index: int | None, call_id: str, name: str, *, whole: bool) -> _Call:
        """The call that a piece belongs to. Its index says so, but some servers give all calls the same, or none.
        `whole`: the piece brings arguments too."""
        begins = bool(call_id and name)
        key = index if index is not None else len(self._calls) - (0 if begins else 1)
        found = self._by_index.get(key)
        if found is None or _is_another(found, call_id, name, whole=whole):
            found = self._by_index[key] = _Call()
            self._calls.append(found)
        return found


def _is_another(call: _Call, call_id: str, name: str, *, whole: bool) -> bool:
    if call_id and call.call_id:
        return call_id != call.call_id
    return bool(name and call.name and whole and call.complete)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
