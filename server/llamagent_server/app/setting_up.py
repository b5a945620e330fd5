"""`init`: a project's AGENTS.md, proposed through the gate, and our own files beside it, once that was accepted."""

from llamagent_server.agent.ports import Editor, NewId
from llamagent_server.agent.results import Initialized
from llamagent_server.agent.review import MADE, resolve
from llamagent_server.core.proposals import FileChange, Proposal
from llamagent_server.processes.threads import off_loop
from llamagent_server.store import places
from llamagent_server.store.project_files import NOTES_TEXT, make_files, missing_files, project_files
from llamagent_server.workspace import Folder, NewFile, ProjectWorkspace

NOTES = "AGENTS.md"


async def set_up(workspace: ProjectWorkspace, editor: Editor, new_id: NewId) -> Initialized:
    """Make what is missing in the first folder. Where AGENTS.md is missing it is proposed, and nothing is made when the
    person rejects it; where it is there, the command itself was the person's word. Raises RequestError."""
    folder = workspace.folders[0]
    ours = await off_loop(lambda _: _missing(folder))
    every = (NOTES, *project_files())
    path = f"{folder.name}/{NOTES}" if len(workspace.folders) > 1 else NOTES
    found = await workspace.read_for_edit(path)
    notes: tuple[str, ...] = ()
    if isinstance(found, NewFile):
        note = f"with {', '.join(ours)}" if ours else ""
        change = FileChange(found.path, found.uri, None, NOTES_TEXT, note=note)
        proposal = Proposal("set up the project", (change,))
        answer = await editor.review(new_id("review"), proposal)
        if resolve(proposal, answer).outcome not in MADE:
            return Initialized((), every)
        notes = (NOTES,)
    made = await off_loop(lambda _: make_files(folder.path)) if ours else ()
    created = (*notes, *made)
    return Initialized(created, tuple(name for name in every if name not in created))


def _missing(folder: Folder) -> tuple[str, ...]:
    """Of the home folder `.llamagent` is the person's own, and no project's."""
    return () if places.is_home(folder.path) else missing_files(folder.path)
