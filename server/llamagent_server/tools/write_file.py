"""write_file: a whole file, proposed; over an existing one it becomes the lines that differ."""

from dataclasses import dataclass

from llamagent_server.agent.ports import ToolContext, ToolKind, ToolResult
from llamagent_server.core.diffs import counts
from llamagent_server.core.edits import EditProblem, rewrite
from llamagent_server.core.messages import JsonObject
from llamagent_server.core.placeholders import placeholder
from llamagent_server.core.proposals import FileChange, Proposal
from llamagent_server.core.unseen import shown
from llamagent_server.processes.threads import off_loop
from llamagent_server.tools.pending import read_for_edit
from llamagent_server.tools.specs import problem, refused, tool_spec, unusable
from llamagent_server.workspace import NewFile, PathProblem, ProjectWorkspace, Snapshot

EMPTY_BY_CUSTOM = frozenset(
    "__init__.py __init__.pyi py.typed .gitkeep .keep .gitignore .npmignore .nojekyll .hushlogin conftest.py".split()
)
_MUCH = 20  # lines


@dataclass(frozen=True, slots=True)
class WriteFile:
    workspace: ProjectWorkspace
    kind = ToolKind.EDIT
    spec = tool_spec("write_file", "Create a file with this content.", {"path": "string", "content": "string"})

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolResult | Proposal:
        path, content = str(arguments["path"]), str(arguments["content"])
        if bad := unusable(content, "The content"):
            return bad
        found = await read_for_edit(self.workspace, path, context)
        if isinstance(found, PathProblem):
            return await problem(found, path, self.workspace)
        if isinstance(found, NewFile):
            return created(found, content)
        return await off_loop(lambda _: _rewritten(found, content))


def created(place: NewFile, content: str) -> ToolResult | Proposal:
    """The proposal of a new file."""
    name = place.path.rpartition("/")[2]
    if not content.strip() and name not in EMPTY_BY_CUSTOM:
        return refused(f"{shown(place.path)}: the content is empty. Give the whole content.")
    if gap := placeholder(content, ""):
        return refused(f"{shown(place.path)}: the content leaves code out ({gap}). Write every line in full.")
    change = FileChange(place.path, place.uri, None, content)
    return Proposal(f"create {shown(place.path)}", (change,))


def _rewritten(found: Snapshot, content: str) -> ToolResult | Proposal:
    name = shown(found.path)
    if found.conflict:
        return refused(f"{name}: {found.conflict}.")
    if not content.strip():
        return refused(f"{name}: the content is empty; that would delete all its lines. Use edit_file to remove some.")
    edited = rewrite(found.text, content)
    if isinstance(edited, EditProblem):
        return refused(f"{name}: {edited.message}")
    added, removed = counts(found.text, edited.after)
    note = f"it drops {removed - added} lines of the file" if removed - added > max(_MUCH, added) else ""
    change = FileChange(found.path, found.uri, found.text, edited.after, found.version, note)
    return Proposal(f"rewrite {name}", (change,))
