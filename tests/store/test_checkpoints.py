"""What edits replaced is kept by its hash in the user's folder, in bounds, and for no longer than its conversation."""

import asyncio
import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from llamagent_server.core.proposals import Replaced
from llamagent_server.store import places
from llamagent_server.store.checkpoints import FileCheckpoints


def one(before: str | None, after: str | None, path: str = "a.txt") -> Replaced:
    return Replaced(path, f"file:///p/{path}", before, after)


def texts() -> list[str]:
    return places.names(places.user_place("checkpoints", "texts"))


async def test_what_was_kept_comes_back_in_another_daemon(tmp_path: Path) -> None:
    kept = FileCheckpoints(tmp_path)
    rows = (one(None, "a\r\n\ud800\n"), one("x\n", "y\n", "b.txt"))
    assert await kept.remember("s1", "turn-1", rows) is None
    assert await kept.remember("s1", "turn-2", (one("y\n", "x\n", "b.txt"),)) is None
    assert await kept.remember("s2", "turn-3", (one("q", "r"),)) is None
    again = FileCheckpoints(tmp_path)
    assert await again.turns("s1") == ("turn-1", "turn-2")
    assert await again.of("s1", ("turn-1",)) == rows
    assert len(texts()) == 5  # "x\n" and "y\n" once each
    await again.undone("s1", ("turn-2",), ("b.txt",))
    assert await kept.turns("s1") == ("turn-1",)
    assert await kept.ways_back("s1") == ((("turn-2",), ("b.txt",)),)
    assert await FileCheckpoints(tmp_path / "other").turns("s1") == ()


async def test_a_line_that_was_cut_off_harms_no_other(tmp_path: Path) -> None:
    kept = FileCheckpoints(tmp_path)
    await kept.remember("s1", "turn-1", (one("a", "b"),))
    (found,) = places.user_folder().rglob("s1.jsonl")
    with found.open("ab") as file:
        file.write(b'{"turn": "turn-2", "pa')
    await kept.remember("s1", "turn-3", (one("b", "c"),))
    assert await kept.turns("s1") == ("turn-1", "turn-3")


async def test_a_kept_file_that_is_a_hard_link_to_one_elsewhere_is_replaced_and_not_written_into(
    tmp_path: Path,
) -> None:
    kept = FileCheckpoints(tmp_path)
    await kept.remember("s1", "turn-1", (one("a" * 100, "b" * 100),))
    (rows,) = places.user_folder().rglob("s1.jsonl")
    elsewhere = [tmp_path / "rows"]
    elsewhere[0].hardlink_to(rows)
    for path in places.user_folder().joinpath("checkpoints/texts").iterdir():
        elsewhere.append(tmp_path / path.name)
        elsewhere[-1].write_text("theirs")
        path.unlink()
        path.hardlink_to(elsewhere[-1])
    before = [path.read_bytes() for path in elsewhere]
    assert len(before) == 3
    assert await kept.remember("s1", "turn-2", (one("a" * 100, "b" * 100),)) is None
    assert [path.read_bytes() for path in elsewhere] == before
    assert await FileCheckpoints(tmp_path).turns("s1") == ("turn-1", "turn-2")
    assert await FileCheckpoints(tmp_path).of("s1", ("turn-2",)) == (one("a" * 100, "b" * 100),)


async def test_the_oldest_go_first_and_it_is_said(tmp_path: Path) -> None:
    kept = FileCheckpoints(tmp_path, limit=10_000)
    for number in range(3):
        assert await kept.remember("s1", f"turn-{number}", (one(None, str(number) * 3000),)) is None
        for path in places.user_folder().joinpath("checkpoints/texts").iterdir():
            os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns - 10**9))
    told = await kept.remember("s1", "turn-3", (one(None, "3" * 3000),))
    assert told is not None
    assert "can no longer be undone" in told
    assert await kept.of("s1", ("turn-0",)) is None
    assert await kept.of("s1", ("turn-3",)) == (one(None, "3" * 3000),)


# The system itself ends a process, as kill -9 does, at the byte of a file that goes beyond the limit.
KILLED_AT = """
import asyncio, pathlib, resource, signal, sys
from llamagent_server.core.proposals import Replaced
from llamagent_server.store.checkpoints import FileCheckpoints
if sys.argv[3] == "killed":
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
row = Replaced("a.txt", "file:///p/a.txt", None, "0123456789" * 30)
print(asyncio.run(FileCheckpoints(pathlib.Path(sys.argv[1])).remember("s1", "turn-1", [row])))
"""


def writing(project: Path, limit: int, end: str) -> "subprocess.CompletedProcess[str]":
    """Another process keeps a text of 300 bytes, where no file may be longer than `limit`."""
    words = (sys.executable, "-c", KILLED_AT, str(project), str(limit), end)
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="only on Unix: the system ends a process at a byte")
@pytest.mark.parametrize("byte", [0, 1, 150, 299])
async def test_killed_at_any_byte_of_a_text_nothing_is_left_beside_it_and_it_is_written_when_needed(
    tmp_path: Path, byte: int
) -> None:
    text = "0123456789" * 30
    assert writing(tmp_path, byte, "killed").returncode == -signal.SIGXFSZ
    name = hashlib.sha256(text.encode()).hexdigest()
    assert texts() == [name]
    kept = FileCheckpoints(tmp_path)
    assert await kept.turns("s1") == ()
    assert await kept.remember("s1", "turn-2", (one(None, text),)) is None
    assert texts() == [name]
    assert await kept.of("s1", ("turn-2",)) == (one(None, text),)


@pytest.mark.skipif(sys.platform == "win32", reason="only on Unix: the system ends a process at a byte")
async def test_a_death_while_a_text_is_written_that_is_there_costs_it_nothing(tmp_path: Path) -> None:
    kept = FileCheckpoints(tmp_path)
    rows = (one(None, "0123456789" * 30),)
    assert await kept.remember("s1", "turn-1", rows) is None
    assert writing(tmp_path, 150, "killed").returncode == -signal.SIGXFSZ
    assert await kept.of("s1", ("turn-1",)) == rows
    assert "not kept" in writing(tmp_path, 150, "refused").stdout
    assert await kept.of("s1", ("turn-1",)) == rows


@pytest.mark.skipif(sys.platform == "win32", reason="only on Unix: the system refuses a byte")
async def test_a_text_that_the_disk_took_in_part_is_not_left(tmp_path: Path) -> None:
    assert "not kept" in writing(tmp_path, 150, "refused").stdout
    assert texts() == []


async def test_two_daemons_that_write_one_text_at_once_both_have_it(tmp_path: Path) -> None:
    rows = (one("x" * 500_000, "y" * 500_000),)
    daemons = [FileCheckpoints(tmp_path / str(number)) for number in range(4)]
    told = await asyncio.gather(*(daemon.remember("s1", "turn-1", rows) for daemon in daemons for _ in range(5)))
    assert set(told) == {None}
    assert len(texts()) == 2
    for daemon in daemons:
        assert await daemon.of("s1", ("turn-1",)) == rows * 5


async def test_a_damaged_text_is_mended_by_an_edit_that_needs_it(tmp_path: Path) -> None:
    kept = FileCheckpoints(tmp_path)
    rows = (one("a", "b"),)
    await kept.remember("s1", "turn-1", rows)
    for path in places.user_folder().joinpath("checkpoints/texts").iterdir():
        path.write_text("longer than before")
    await kept.remember("s1", "turn-2", rows)
    assert await kept.of("s1", ("turn-1",)) == rows


async def test_a_damaged_text_is_no_text(tmp_path: Path) -> None:
    kept = FileCheckpoints(tmp_path)
    await kept.remember("s1", "turn-1", (one("a", "b"),))
    for path in places.user_folder().joinpath("checkpoints/texts").iterdir():
        path.write_text("evil")
    assert await kept.of("s1", ("turn-1",)) is None


async def test_a_conversation_that_is_deleted_takes_its_texts_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llamagent_server.store.checkpoints._FRESH_SECONDS", -1.0)
    kept = FileCheckpoints(tmp_path)
    await kept.remember("s1", "turn-1", (one("mine", "both"),))
    await kept.remember("s2", "turn-2", (one("both", "other"),))
    await kept.forget("s1")
    assert await kept.turns("s1") == ()
    assert await kept.of("s2", ("turn-2",)) == (one("both", "other"),)
    assert len(texts()) == 2


async def test_a_disk_that_refuses_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LLAMAGENT_HOME", str(tmp_path / "file" / "home"))
    told = await FileCheckpoints(tmp_path).remember("s1", "turn-1", (one("a", "b"),))
    assert told is not None
    assert "not kept" in told
