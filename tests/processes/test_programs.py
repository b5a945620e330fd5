"""A program that lies in the open project is never taken for one of the system's."""

import os
from pathlib import Path

import pytest

from llamagent_server.processes.commands import shell_argv
from llamagent_server.processes.environment import own_programs
from llamagent_server.processes.git_programs import git_programs
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


PLAIN_GIT = """[core]
\trepositoryformatversion = 0
\tbare = false
\tfsmonitor = true
[remote "origin"]
\turl = https://example.org/helper/editor.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
"""


def repository(git: Path, config: str = PLAIN_GIT) -> Path:
    for name in ("objects", "refs", "hooks"):
        (git / name).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "hooks/pre-commit.sample").touch()
    (git / "config").write_text(config)
    return git


def test_a_cloned_repository_decides_no_program(tmp_path: Path) -> None:
    repository(tmp_path / ".git")
    assert git_programs(tmp_path) is None
    assert git_programs(tmp_path / "src") is None


@pytest.mark.parametrize(
    "line",
    [
        "[core]\n\tfsmonitor = ./x.sh",
        "[core] FSMonitor=./x.sh",
        "[core]\n\thooksPath = hooks",
        '[filter "a]b"] clean = ./x.sh',
        "[diff]\nexternal=./x.sh",
        "[alias]\n\tst = !./x.sh",
        "[include]\n\tpath = ../evil",
        '[includeIf "gitdir:/"] path = ../evil',
    ],
)
def test_a_repository_whose_settings_name_a_program_decides_what_git_runs(tmp_path: Path, line: str) -> None:
    git = repository(tmp_path / ".git", f"{PLAIN_GIT}{line}\n")
    (tmp_path / "src").mkdir()
    assert git_programs(tmp_path / "src") == str(git / "config")


def test_a_repository_with_hooks_decides_what_git_runs(tmp_path: Path) -> None:
    hook = repository(tmp_path / ".git") / "hooks/post-index-change"
    hook.touch()
    assert own_programs(tmp_path, {"PATH": "/usr/bin"}) == str(hook)


def test_a_repository_in_a_folder_of_another_name_decides_what_git_runs(tmp_path: Path) -> None:
    repository(tmp_path / "data", f"{PLAIN_GIT}[core]\nworktree = ..\n")
    assert git_programs(tmp_path / "data") == str(tmp_path / "data/config")
    (tmp_path / ".git").write_text("gitdir: data\n")
    assert git_programs(tmp_path) == str(tmp_path / ".git")
    work = tmp_path / "work"
    work.mkdir()
    (work / ".git").write_text(f"gitdir: {tmp_path / 'data'}\n")
    assert git_programs(work) is None
