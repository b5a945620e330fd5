"""Temporary folders: those of processes that live stay, those of processes that were killed go, others are not ours."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from llamagent_server.store import locks, temporary

HOLDER = """
import time
from llamagent_server.store import temporary
folder = temporary.make()
folder.path.joinpath("answer-1.md").write_text("an answer")
print(folder.path, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path.resolve() / "tmp"
    top.mkdir()
    monkeypatch.setenv("TMPDIR", str(top))
    monkeypatch.setattr(tempfile, "tempdir", None)  # Windows
    return top


@contextmanager
def holder() -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """Another process that has made a folder, with a file in it."""
    with subprocess.Popen((sys.executable, "-c", HOLDER), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_a_folder_is_private_and_gone_when_it_is_removed(top: Path) -> None:
    folder = temporary.make()
    (folder.path / "answer-1.md").write_text("an answer")
    assert folder.path.parent == top
    assert sys.platform == "win32" or folder.path.stat().st_mode & 0o777 == 0o700
    folder.remove()
    assert list(top.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="only on Unix: the time of a folder tells")
def test_a_look_writes_nothing_that_a_kill_could_leave(top: Path) -> None:
    os.utime(top, (1, 1))
    subprocess.run(
        (sys.executable, "-c", "from llamagent_server.store import temporary; temporary.sweep()"), check=True
    )
    assert top.stat().st_mtime == 1


def test_what_a_killed_process_left_goes_and_what_a_living_one_has_stays(top: Path) -> None:
    mine = temporary.make()
    with holder() as (dead, left), holder() as (_, used):
        dead.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
        dead.wait()
        assert (left / "answer-1.md").exists()
        temporary.sweep()
        assert set(top.iterdir()) == {mine.path, used}
        assert (used / "answer-1.md").read_text() == "an answer"
    temporary.sweep()
    assert list(top.iterdir()) == [mine.path]
    mine.remove()


def test_nothing_else_is_removed_whatever_it_is_called(top: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "kept").write_text("kept")
    (top / f"{temporary.PREFIX}link").symlink_to(theirs)
    (top / f"{temporary.PREFIX}file").write_text("no folder")
    (top / "other").mkdir()
    linked = top / f"{temporary.PREFIX}old"
    linked.mkdir()
    (linked / "inner").symlink_to(theirs)
    locked = top / f"{temporary.PREFIX}locked"
    locked.mkdir()
    (locked / temporary.LOCK).symlink_to(theirs / "kept")
    temporary.sweep()
    assert not linked.exists()
    assert (theirs / "kept").read_text() == "kept"
    assert {path.name for path in top.iterdir()} == {
        f"{temporary.PREFIX}link",
        f"{temporary.PREFIX}file",
        f"{temporary.PREFIX}locked",
        "other",
    }


@pytest.mark.skipif(sys.platform == "win32", reason="only on Unix: folders have an owner")
def test_the_folder_of_another_user_stays(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = top / f"{temporary.PREFIX}old"
    left.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: left.stat().st_uid + 1)
    temporary.sweep()
    assert left.exists()


def test_where_there_are_no_locks_nothing_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = temporary.make()
    monkeypatch.setattr(locks, "try_lock", lambda _: True)
    temporary.sweep()
    assert folder.path.exists()


def test_a_sweep_between_the_making_of_a_folder_and_its_lock_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    make, made = tempfile.mkdtemp, []

    def swept(**arguments: str) -> str:
        path = make(**arguments)
        made.append(path)
        if len(made) == 1:
            temporary.sweep()
            assert not Path(path).exists()
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", swept)
    folder = temporary.make()
    assert [str(folder.path)] == made[1:]
    temporary.sweep()
    assert folder.path.exists()


def test_no_temporary_folder_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
    monkeypatch.setattr(os, "access", lambda *_: False)
    temporary.sweep()
    with pytest.raises(FileNotFoundError):
        temporary.make()
