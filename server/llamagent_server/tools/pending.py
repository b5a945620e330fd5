"""Edits of one reply build on one another: a file as it would be after those that the person has not seen yet."""

from dataclasses import replace

from llamagent_server.agent.ports import ToolContext
from llamagent_server.workspace import NewFile, PathProblem, ProjectWorkspace, Snapshot, Source


async def read_for_edit(
    workspace: ProjectWorkspace, path: str, context: ToolContext
) -> Snapshot | NewFile | PathProblem:
    """As the workspace's `read_for_edit`, with the edits that are pending."""
    found = await workspace.read_for_edit(path)
    if isinstance(found, PathProblem):
        return found
    text = next((change.after for change in context.pending if change.uri == found.uri), None)
    if text is None:
        return found
    if isinstance(found, NewFile):
        return Snapshot(found.path, found.uri, text, None, Source.DISK)
    return replace(found, text=text)
