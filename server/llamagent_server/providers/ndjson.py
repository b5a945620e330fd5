"""Newline-delimited JSON: fed bytes, gives objects (Ollama's streams)."""

from llamagent_server.providers.lines import MAX_LINE_BYTES, Garbage, Line, LineSplitter, Record, parse_object


class NdjsonParser:
    """Outcomes: `Record` for an object, `Garbage` for any other line. Blank lines are nothing."""

    def __init__(self, max_line: int = MAX_LINE_BYTES) -> None:
        self._lines = LineSplitter(max_line)

    def feed(self, data: bytes) -> list[Record | Garbage]:
        return _parsed(self._lines.feed(data))

    def close(self) -> list[Record | Garbage]:
        """A last line without its end."""
        return _parsed(self._lines.close())


def _parsed(lines: list[Line]) -> list[Record | Garbage]:
    return [parse_object(line) for line in lines if not isinstance(line, bytes) or line.strip()]
