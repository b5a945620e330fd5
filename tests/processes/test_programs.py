"""A program that lies in the open project is never taken for one of the system's."""

import os
from pathlib import Path

import pytest

from llamagent_server.processes.commands import shell_argv
from llamagent_server.processes.environment import own_programs
from llamagent_server.processes.programs import find_program
from llamagent_server.workspace.engines import Ripgrep, find_engine

pytestmark = pytest.mark.skipif(os.name == "nt", reason="programs are planted as shell scripts")


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that one is in, with programs beside the sources."""
    for folder in (tmp_path, tmp_path / "bin"):
        folder.mkdir(exist_ok=True)
        for name in ("rg", "bash", "python3"):
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("entry", ["", ".", "bin", "./bin"])
def test_relative_folders_in_the_path_do_not_count(planted: Path, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    path = f"{entry}{os.pathsep}/usr/bin{os.pathsep}/bin"
    monkeypatch.setenv("PATH", path)
    assert find_program("rg", entry) is None
    assert find_program("python3", str(planted)) == str(planted / "python3")
    assert Path(shell_argv("ls")[0]).is_absolute() and not Path(shell_argv("ls")[0]).is_relative_to(planted)
    for setting in ("", "rg", "./rg", "bin/rg"):
        engine = find_engine(setting)
        assert not isinstance(engine, Ripgrep) or not Path(engine.program).resolve().is_relative_to(planted)


def test_what_decides_which_programs_a_command_runs_is_named(tmp_path: Path) -> None:
    assert own_programs(tmp_path, {"PATH": "/usr/bin:/bin"}) is None
    assert own_programs(tmp_path, {}) is None
    assert own_programs(tmp_path, {"PATH": "/usr/bin::/bin"}) == "a PATH with relative folders"
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/python").touch()
    assert own_programs(tmp_path, {"PATH": "/usr/bin:/bin"}) == "venv/bin/python"
