"""list_files: the project's files, with folders folded up where there would be too many lines."""

from dataclasses import dataclass

from llamagent_server.agent.ports import ToolContext, ToolKind, ToolResult
from llamagent_server.core.messages import JsonObject
from llamagent_server.core.unseen import shown
from llamagent_server.tools.listed import listed
from llamagent_server.tools.specs import problem, room_for, tool_spec
from llamagent_server.workspace import PathProblem, ProjectWorkspace

_SAMPLE = 200  # names that are measured
_NOTES = 200


@dataclass(frozen=True, slots=True)
class ListFiles:
    workspace: ProjectWorkspace
    kind = ToolKind.READ
    spec = tool_spec("list_files", "List files below a folder.", {"path": "string"}, optional=("path",))

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolResult:
        path = str(arguments.get("path") or ".")
        listing = await self.workspace.list(path)
        if isinstance(listing, PathProblem):
            return await problem(listing, path, self.workspace)
        room = max(_NOTES, room_for(context, "\n".join(listing.files[:_SAMPLE])) - _NOTES)
        lines, left_out = await listed(self.workspace, listing, room)
        if not lines:
            return ToolResult(True, f"{shown(listing.path)}: no files (ignored ones are not listed).")
        if left_out:
            lines.append("[A folder with a count is not shown whole: list_files with its path shows more.]")
        if not listing.complete:
            lines.append("[There are more files than could be looked at.]")
        return ToolResult(True, "\n".join(lines), truncated=left_out or not listing.complete)
