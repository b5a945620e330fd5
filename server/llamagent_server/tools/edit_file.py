"""edit_file: one piece of a file replaced, proposed; where no file is, an empty old_text creates it."""

from dataclasses import dataclass

from llamagent_server.agent.ports import ToolContext, ToolKind, ToolResult
from llamagent_server.core.edits import EditProblem, replace
from llamagent_server.core.messages import JsonObject
from llamagent_server.core.proposals import FileChange, Proposal
from llamagent_server.core.unseen import shown
from llamagent_server.processes.threads import off_loop
from llamagent_server.tools.pending import read_for_edit
from llamagent_server.tools.specs import problem, refused, tool_spec, unusable
from llamagent_server.tools.write_file import created
from llamagent_server.workspace import NewFile, PathProblem, ProblemKind, ProjectWorkspace


@dataclass(frozen=True, slots=True)
class EditFile:
    workspace: ProjectWorkspace
    kind = ToolKind.EDIT
    spec = tool_spec(
        "edit_file",
        "Replace old_text, copied exactly from the file, by new_text.",
        {"path": "string", "old_text": "string", "new_text": "string"},
    )

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolResult | Proposal:
        path, old, new = (str(arguments[name]) for name in ("path", "old_text", "new_text"))
        if bad := unusable(new, "new_text"):
            return bad
        found = await read_for_edit(self.workspace, path, context)
        if isinstance(found, PathProblem):
            return await problem(found, path, self.workspace)
        if isinstance(found, NewFile):
            if not old:
                return created(found, new)
            absent = PathProblem(ProblemKind.MISSING, f"{shown(path)}: there is no such file.")
            told = await problem(absent, path, self.workspace)
            return refused(f"{told.content} write_file makes a new file.")
        name = shown(found.path)
        if found.conflict:
            return refused(f"{name}: {found.conflict}.")
        text = found.text
        edited = await off_loop(lambda _: replace(text, old, new))
        if isinstance(edited, EditProblem):
            return refused(f"{name}: {edited.message}")
        change = FileChange(found.path, found.uri, found.text, edited.after, found.version, edited.note)
        return Proposal(f"edit {name}", (change,))
