"""Fixtures: one Emacs with the recipe of docs/editors/emacs.md, the real daemon, a scripted model."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emacs.driver import Emacs, emacs
from tests.fakes import FakeOllama

if shutil.which("emacs") is None or not list(Path("/usr/share/emacs/site-lisp").glob("**/eglot*/eglot.el")):
    pytest.skip("install emacs-nox and elpa-eglot for these tests", allow_module_level=True)

WRONG = "def add(a, b):\n    return a - b\n"


@pytest.fixture(scope="session")
def model() -> Iterator[FakeOllama]:
    """The scripted model server; `model.add(...)` gives it its replies."""
    with FakeOllama() as server:
        yield server


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one small file, `a.py`."""
    root = tmp_path_factory.mktemp("emacs") / "proj"
    (root / ".git").mkdir(parents=True)
    (root / "a.py").write_text(WRONG)
    return root


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory, model: FakeOllama, folder: Path) -> Iterator[Emacs]:
    """An Emacs that has started eglot. It is one for all tests: it takes seconds to start."""
    home = tmp_path_factory.mktemp("emacs-home")
    with emacs(home, OLLAMA_URL=model.url, LLAMAGENT_HOME=str(home / ".llamagent")) as editor:
        editor.open(folder / "a.py")
        yield editor


@pytest.fixture
def editor(running: Emacs, folder: Path) -> Emacs:
    """An Emacs that shows `a.py`, in a new conversation."""
    running.begin(folder, WRONG)
    return running
