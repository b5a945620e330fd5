"""`init`: a project's AGENTS.md and our own files beside it, proposed as one edit: who says yes has seen every line."""

from llamagent_server.agent.ports import Editor, NewId
from llamagent_server.agent.results import Initialized
from llamagent_server.agent.review import MADE, resolve
from llamagent_server.core.proposals import FileChange, Proposal
from llamagent_server.processes.threads import off_loop
from llamagent_server.store import places
from llamagent_server.store.project_files import NOTES_TEXT, missing_files, project_files
from llamagent_server.workspace import Folder, NewFile, ProjectWorkspace

NOTES = "AGENTS.md"


async def set_up(workspace: ProjectWorkspace, editor: Editor, new_id: NewId) -> Initialized:
    """Propose what is missing in the first folder. Raises RequestError."""
    every = (NOTES, *project_files())
    changes = await _missing(workspace)
    if not changes:
        return Initialized((), every)
    proposal = Proposal("set up the project", tuple(changes.values()))
    answer = await editor.review(new_id("review"), proposal)
    there = tuple(name for name in every if name not in changes)
    if resolve(proposal, answer).outcome not in MADE:
        return Initialized((), there)
    await editor.save_edited()  # settings and rules of what git ignores count on disk only
    states = zip(changes, answer.base, answer.now, strict=True)
    return Initialized(tuple(name for name, base, now in states if base is None and now is not None), there)


async def _missing(workspace: ProjectWorkspace) -> dict[str, FileChange]:
    folder = workspace.folders[0]
    ours = await off_loop(lambda _: _ours(folder))
    found = {}
    for name, text in {NOTES: NOTES_TEXT, **ours}.items():
        path = f"{folder.name}/{name}" if len(workspace.folders) > 1 else name
        place = await workspace.read_for_edit(path, ours=name in ours)
        if isinstance(place, NewFile):
            found[name] = FileChange(place.path, place.uri, None, text, ours=name in ours)
    return found


def _ours(folder: Folder) -> dict[str, str]:
    """Of the home folder `.llamagent` is the person's own, and no project's."""
    return {} if places.is_home(folder.path) else missing_files(folder.path)
