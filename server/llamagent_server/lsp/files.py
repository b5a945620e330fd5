"""The texts that an edit is about, as the editor and the disk have them at this moment."""

import asyncio
from collections.abc import Callable, Sequence

from llamagent_server.core.diffs import rebase
from llamagent_server.core.proposals import FileChange
from llamagent_server.lsp.convert import Planned
from llamagent_server.lsp.documents import Documents
from llamagent_server.processes.threads import off_loop
from llamagent_server.workspace import PathProblem, ProjectWorkspace, Purpose, Snapshot, Source, disk
from llamagent_server.workspace.confinement import resolve
from llamagent_server.workspace.freshness import same_text

# Editors gather changes before they send them, and reload a file a moment after it changed on disk.
SETTLE_SECONDS = 1.0
_BOM = "\ufeff"


class Refused(Exception):
    """The edit cannot be made any more; the words are for the person and the model."""


class Files:
    """`workspace` may come into being after this does."""

    def __init__(self, documents: Documents, workspace: Callable[[], ProjectWorkspace]) -> None:
        self._documents = documents
        self._workspace = workspace

    async def plan(self, changes: Sequence[FileChange]) -> list[Planned]:
        """The edits for the texts as they are when this returns. Raises Refused."""
        while True:
            generation = self._documents.generation
            planned = [await self._planned(change) for change in changes]
            if generation == self._documents.generation:
                return planned

    async def texts(self, uris: Sequence[str]) -> tuple[str | None, ...]:
        return tuple([await self._text(uri) for uri in uris])

    async def settled(self, uris: Sequence[str], expected: Sequence[str | None] | None) -> tuple[str | None, ...]:
        """The texts once they are as `expected`, or as they are after SETTLE_SECONDS."""
        deadline = _now() + SETTLE_SECONDS
        gone = {uri for uri, text in zip(uris, expected or (), strict=False) if text is None}
        while True:
            generation = self._documents.generation
            now = tuple([await self._text(uri, removed=uri in gone) for uri in uris])
            if now == expected or not await self._documents.changed(generation, deadline - _now()):
                return now

    async def is_there(self, uri: str) -> bool:
        """Whether there is such a file on disk."""
        place = await self._workspace().resolve(uri, Purpose.READ)
        return not isinstance(place, PathProblem)

    async def on_disk(self, uri: str) -> bool:
        """Whether the file holds what the open document shows. No for what cannot be compared."""
        document = self._documents.get(uri)
        if document is None:
            return True
        folders, shown = self._workspace().folders, document.text

        def compare() -> bool:
            place = resolve(uri, Purpose.READ, folders)
            found = place if isinstance(place, PathProblem) else disk.read(place, disk.EDIT_BYTES)
            return not isinstance(found, PathProblem) and same_text(found.text, shown)

        return await off_loop(lambda _: compare())

    async def _planned(self, change: FileChange) -> Planned:
        base = await self._base(change)
        if change.removes:
            return self._removed(change, base)
        document = self._documents.get(change.uri)
        version = document.version if document else None
        mark = _BOM if base is not None and base.startswith(_BOM) else ""
        before = None if change.before is None else mark + change.before
        if base == before or (before is None and not (base or "").strip("\r\n")):
            return Planned(change.uri, base, mark + change.after, version)
        if base is None or before is None:
            raise Refused(f"{change.path} {'is not there any more' if base is None else 'exists by now'}")
        after = rebase(before, mark + change.after, base)
        if after is None:
            raise Refused(f"{change.path} was changed meanwhile, in the lines that the edit is about")
        return Planned(change.uri, base, after, version)

    def _removed(self, change: FileChange, base: str | None) -> Planned:
        """Only what still is as it was shown goes away. Raises Refused."""
        if base is None or base.removeprefix(_BOM) != change.before:
            raise Refused(f"{change.path} was changed meanwhile, so it is not removed")
        return Planned(change.uri, base, None, None)

    async def _base(self, change: FileChange) -> str | None:
        """What the edit will be applied to: the document's text where it is open, for ranges count in that."""
        deadline = _now() + SETTLE_SECONDS
        while True:
            generation = self._documents.generation
            found = await self._workspace().read_for_edit(change.uri, ours=change.ours)
            if isinstance(found, PathProblem):
                raise Refused(found.message)
            if isinstance(found, Snapshot) and found.conflict is not None:
                raise Refused(f"{change.path}: {found.conflict}")
            document = self._documents.get(change.uri)
            if document is None:
                return found.text if isinstance(found, Snapshot) else None
            if isinstance(found, Snapshot) and found.source is Source.BUFFER:
                return document.text
            if not await self._documents.changed(generation, deadline - _now()):
                raise Refused(f"the editor still shows {change.path} as it was before it changed on disk: reload it")

    async def _text(self, uri: str, *, removed: bool = False) -> str | None:
        """`removed`: the file should be gone, and then it does not matter what is still open."""
        document = self._documents.get(uri)
        if document is not None and not (removed and not await self.is_there(uri)):
            return None if document.problem else document.text
        found = await self._workspace().read(uri, max_bytes=disk.EDIT_BYTES)
        return found.text if isinstance(found, Snapshot) else None


def _now() -> float:
    return asyncio.get_running_loop().time()
