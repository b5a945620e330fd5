"""read_file: a file's text as it is on screen, or some of its lines, with what is left and how to get it."""

from dataclasses import dataclass

from llamagent_server.agent.ports import ToolContext, ToolKind, ToolResult
from llamagent_server.core.diffs import split_lines
from llamagent_server.core.messages import JsonObject
from llamagent_server.core.unseen import shown
from llamagent_server.tools.specs import problem, refused, room_for, tool_spec
from llamagent_server.workspace import PathProblem, ProblemKind, ProjectWorkspace

_FRAME = 200  # characters for the header and the note at the end
_SMALLEST = 400
_MOST_LINES = 2_000


@dataclass(frozen=True, slots=True)
class ReadFile:
    workspace: ProjectWorkspace
    kind = ToolKind.READ
    spec = tool_spec(
        "read_file",
        "Read a file, or lines start to end.",
        {"path": "string", "start": "integer", "end": "integer"},
        optional=("start", "end"),
    )

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolResult:
        path = str(arguments["path"])
        start, end = _line(arguments, "start"), _line(arguments, "end")
        if start is not None and end is not None and end < start:
            return refused(f"end ({end}) is before start ({start}).")
        snapshot = await self.workspace.read(path)
        if not isinstance(snapshot, PathProblem):
            lines = split_lines(snapshot.text.removeprefix("\ufeff"))
            note = f" [{snapshot.conflict or snapshot.note}]" if snapshot.conflict or snapshot.note else ""
            return _shown(f"{shown(snapshot.path)}{note}", lines, 1, len(lines), (start or 1, end), context)
        if snapshot.kind is ProblemKind.TOO_LARGE:
            return await self._part(path, start or 1, end, context)
        return await problem(snapshot, path, self.workspace)

    async def _part(self, path: str, start: int, end: int | None, context: ToolContext) -> ToolResult:
        last = min(end or start + _MOST_LINES, start + _MOST_LINES)
        part = await self.workspace.read_lines(path, start, last)
        if isinstance(part, PathProblem):
            return await problem(part, path, self.workspace)
        return _shown(shown(path), split_lines(part.text), start, part.lines, (start, last), context)


def _line(arguments: JsonObject, name: str) -> int | None:
    value = arguments.get(name)
    return max(1, value) if isinstance(value, int) else None


def _shown(
    name: str, lines: list[str], first: int, total: int | None, wanted: tuple[int, int | None], context: ToolContext
) -> ToolResult:
    """The `wanted` lines of those that begin with number `first`, as many as fit."""
    start, end = wanted
    if total == 0:
        return ToolResult(True, f"{name} is empty.")
    if start > (total if total is not None else start):
        return refused(f"{name} has only {total} lines.")
    here = lines[start - first : None if end is None else end - first + 1]
    room = max(_SMALLEST, room_for(context, "".join(here)[: context.max_chars]) - _FRAME)
    fitting, length = 0, 0
    while fitting < len(here) and (length := length + len(here[fitting])) <= room:
        fitting += 1
    if not fitting and here:
        return _one_line(name, here[0], start, total, room)
    last = start + fitting - 1
    text = "".join(here[:fitting]).replace("\r\n", "\n")
    whole = start == 1 and last == total
    header = f"{name} ({total} lines)" if whole else f"{name} (lines {start}-{last} of {_of(total)})"
    text = f"{header}\n{text}" + ("" if text.endswith("\n") else "\n")
    if last == total:
        return ToolResult(True, text, truncated=False)
    left = f"{total - last} more lines" if total is not None else "more lines"
    return ToolResult(True, f"{text}[{left}: read_file with start={last + 1}]", truncated=fitting < len(here))


def _one_line(name: str, line: str, number: int, total: int | None, room: int) -> ToolResult:
    header = f"{name} (the beginning of line {number} of {_of(total)})"
    note = f"[line {number} has {len(line):,} characters; search_text shows other places in it]"
    return ToolResult(True, f"{header}\n{line[:room]}\n{note}", truncated=True)


def _of(total: int | None) -> str:
    return str(total) if total is not None else "many"
