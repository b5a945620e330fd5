"""Edits of one reply build on one another: a file as it would be after those that the person has not seen yet."""

from dataclasses import replace

from llamagent_server.agent.ports import ToolContext
from llamagent_server.core.unseen import shown
from llamagent_server.workspace import NewFile, PathProblem, ProblemKind, ProjectWorkspace, Snapshot, Source


async def read_for_edit(
    workspace: ProjectWorkspace, path: str, context: ToolContext
) -> Snapshot | NewFile | PathProblem:
    """As the workspace's `read_for_edit`, with the edits that are pending."""
    found = await workspace.read_for_edit(path)
    if isinstance(found, PathProblem):
        return found
    if isinstance(found, NewFile) and (blocks := _in_the_way(found.path, context)) is not None:
        words = f"{shown(found.path)} cannot be made beside {shown(blocks)}, which your reply makes, too."
        return PathProblem(ProblemKind.REFUSED, words)
    text = next((change.after for change in context.pending if change.uri == found.uri), None)
    if text is None:
        return found
    if isinstance(found, NewFile):
        return Snapshot(found.path, found.uri, text, None, Source.DISK)
    return replace(found, text=text)


def _in_the_way(path: str, context: ToolContext) -> str | None:
    """A file of the same reply that cannot be there together with one at `path`: one of them would be a folder."""
    new = (change.path for change in context.pending)
    return next((other for other in new if other.startswith(f"{path}/") or path.startswith(f"{other}/")), None)
