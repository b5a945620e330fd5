"""What edits replaced is kept by its hash in the user's folder, in bounds, and for no longer than its conversation."""

import os
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


async def test_what_a_killed_daemon_left_half_written_goes_with_a_later_edit(tmp_path: Path) -> None:
    kept = FileCheckpoints(tmp_path)
    await kept.remember("s1", "turn-1", (one("a", "b"),))
    folder = places.user_folder().joinpath("checkpoints/texts")
    old, fresh = (folder / f".{digit * 64}.00000000.tmp" for digit in "01")
    old.write_text("half")
    fresh.write_text("of a daemon that runs")
    os.utime(old, (1, 1))
    await kept.remember("s1", "turn-2", (one("b", "c"),))
    assert not old.exists()
    assert fresh.exists()
    assert len(texts()) == 4


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
