"""search_text: lines that match a regular expression, grouped by file."""

from dataclasses import dataclass
from itertools import groupby

from llamagent_server.agent.ports import ToolContext, ToolKind, ToolResult
from llamagent_server.core.messages import JsonObject
from llamagent_server.core.unseen import shown
from llamagent_server.tools.specs import problem, refused, room_for, tool_spec, unusable
from llamagent_server.workspace import FoundLine, PathProblem, ProjectWorkspace, Search
from llamagent_server.workspace.found import MAX_HITS_PER_FILE

_SAMPLE = 100  # hits whose text is measured
_NOTES = 250


@dataclass(frozen=True, slots=True)
class SearchText:
    workspace: ProjectWorkspace
    kind = ToolKind.READ
    spec = tool_spec(
        "search_text",
        "Find lines matching a regex.",
        {"pattern": "string", "path": "string"},
        optional=("path",),
    )

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolResult:
        pattern, path = str(arguments["pattern"]), str(arguments.get("path") or ".")
        if not pattern:
            return refused("The pattern is empty.")
        if "\n" in pattern:
            return refused("search_text looks at one line at a time: give a pattern without line ends.")
        if bad := unusable(pattern, "The pattern"):
            return bad
        search = await self.workspace.search(pattern, path)
        if isinstance(search, PathProblem):
            return await problem(search, path, self.workspace)
        literal = f"[Read as plain text: {search.literal}.]\n" if search.literal else ""
        if search.any_case:
            literal = f"[No line matches {pattern!r} as it is; in another case these do:]\n"
        if not search.found:
            notes = _notes(search, 0)
            return ToolResult(
                True, "\n".join([f"{literal}No line matches {pattern!r}.", *notes]), truncated=bool(notes)
            )
        sample = "\n".join(hit.text for hit in search.found[:_SAMPLE])
        lines, shown_hits = _fitted(search, max(_NOTES, room_for(context, sample) - _NOTES))
        notes = _notes(search, shown_hits)
        return ToolResult(True, literal + "\n".join([*lines, *notes]), truncated=bool(notes))


def _fitted(search: Search, room: int) -> tuple[list[str], int]:
    """The hits as lines, as many as fit into `room` characters, and how many that are."""
    lines: list[str] = []
    count = length = 0
    for path, hits in groupby(search.found, key=lambda hit: hit.path):
        lines.append(f"{shown(path)}:")
        length += len(lines[-1]) + 1
        for hit in hits:
            line = f"{hit.number}: {_visible(hit)}"
            length += len(line) + 1
            if length > room and count:
                return (lines[:-1] if lines[-1].endswith(":") else lines), count
            lines.append(line)
            count += 1
    return lines, count


def _visible(hit: FoundLine) -> str:
    """A hit as one line: what a line of a file may hold but a line of a result may not is left out."""
    return " ".join(hit.text.split("\r")).replace("\x1b", "")


def _notes(search: Search, shown_hits: int) -> list[str]:
    notes = []
    left = search.found[shown_hits:]
    if left:
        files = len({hit.path for hit in left})
        notes.append(f"[{len(left):,} more lines in {files:,} files: use a narrower pattern or a path.]")
    if search.stopped:
        notes.append(f"[The search was {search.stopped}; there may be more.]")
    full = [path for path, hits in groupby(search.found, lambda hit: hit.path) if len(list(hits)) == MAX_HITS_PER_FILE]
    if full:
        notes.append(f"[Only the first {MAX_HITS_PER_FILE} of a file: {', '.join(map(shown, full[:3]))}.]")
    return notes
