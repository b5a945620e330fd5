"""What was learned of models: kept in the person's folder, whole, between daemons; a damaged file is forgotten."""

import asyncio
import json
import logging
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from llamagent_server.agent.road import Learned, RoadKey
from llamagent_server.store import locks, places
from llamagent_server.store.places import user_folder
from llamagent_server.store.roads import FILE, MAX_ROWS, FileRoads

KEY: RoadKey = ("http://127.0.0.1:11434", "qwen3.5:4b")
WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LEARNED = Learned("sha256:1 0.30.1", "qwen3.5:4b wrote nothing usable twice in a row", WHEN)


def file() -> Path:
    return user_folder() / FILE


async def test_what_was_learned_is_there_for_the_next_daemon_and_can_be_forgotten() -> None:
    assert await FileRoads().recall(KEY) is None
    await FileRoads().keep(KEY, LEARNED)
    assert await FileRoads().recall(KEY) == LEARNED
    assert await FileRoads().recall(("http://elsewhere", KEY[1])) is None
    await FileRoads().forget(KEY)
    assert await FileRoads().recall(KEY) is None
    assert [path.name for path in user_folder().iterdir()] == [FILE]


async def test_the_file_is_private_and_says_what_it_holds() -> None:
    await FileRoads().keep(KEY, LEARNED)
    assert json.loads(file().read_text("utf-8")) == {
        "version": 1,
        "models": [
            {
                "server": KEY[0],
                "model": KEY[1],
                "road": "schema",
                "identity": LEARNED.identity,
                "why": LEARNED.why,
                "since": "2026-01-02T03:04:05+00:00",
            }
        ],
    }
    if os.name == "posix":
        assert file().stat().st_mode & 0o777 == 0o600


async def test_what_a_killed_daemon_left_behind_goes_when_the_next_one_looks() -> None:
    await FileRoads().keep(KEY, LEARNED)
    file().with_name(f".{FILE}.00000000.tmp").write_text("{")
    file().with_name(f"{FILE}.lock").write_text("")
    assert await FileRoads().recall(KEY) == LEARNED
    assert [path.name for path in user_folder().iterdir()] == [FILE]


async def test_what_a_daemon_is_writing_stays() -> None:
    await FileRoads().keep(KEY, LEARNED)
    half = file().with_name(f".{FILE}.00000000.tmp")
    half.write_text("{")
    held = locks.take(places.user_place(), f"{FILE}.lock")
    assert held is not None
    assert await FileRoads().recall(KEY) == LEARNED
    assert half.exists()
    held.release()


async def test_daemons_that_learn_at_the_same_time_lose_nothing() -> None:
    keys: list[RoadKey] = [("http://s", f"m{number}") for number in range(20)]
    await asyncio.gather(*(FileRoads().keep(key, LEARNED) for key in keys))
    assert [await FileRoads().recall(key) for key in keys] == [LEARNED] * 20


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"models": {}}', b"[" * 100_000, b"\x00" * 50],
)
async def test_a_damaged_file_is_forgotten_said_in_the_log_and_written_anew(
    content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    file().parent.mkdir(parents=True, exist_ok=True)
    file().write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert await FileRoads().recall(KEY) is None
    assert "roads.json cannot be read" in caplog.text
    assert "forgotten" in caplog.text
    await FileRoads().keep(KEY, LEARNED)
    assert await FileRoads().recall(KEY) == LEARNED


@pytest.mark.parametrize(
    "row",
    [
        1,
        {},
        {"server": 1, "model": "m", "why": "w", "since": "x"},
        {"server": "s", "model": "m", "why": "", "since": ""},
    ],
)
async def test_a_row_that_cannot_be_read_costs_that_row(row: object) -> None:
    await FileRoads().keep(KEY, LEARNED)
    content = json.loads(file().read_text("utf-8"))
    content["models"].insert(0, row)
    file().write_text(json.dumps(content), "utf-8")
    assert await FileRoads().recall(KEY) == LEARNED


async def test_the_oldest_are_forgotten_when_there_are_many() -> None:
    rows = [
        {"server": "s", "model": f"m{n}", "identity": "", "why": "w", "since": (WHEN + timedelta(n)).isoformat()}
        for n in range(MAX_ROWS)
    ]
    file().parent.mkdir(parents=True, exist_ok=True)
    file().write_text(json.dumps({"version": 1, "models": rows}), "utf-8")
    await FileRoads().keep(("s", "newest"), Learned("", "w", WHEN + timedelta(MAX_ROWS)))
    assert await FileRoads().recall(("s", "m0")) is None
    assert await FileRoads().recall(("s", "m1")) is not None
    assert await FileRoads().recall(("s", "newest")) is not None


async def test_a_folder_that_cannot_be_made_is_said_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    monkeypatch.setenv("LLAMAGENT_HOME", str(tmp_path / "file" / "home"))
    with caplog.at_level(logging.WARNING):
        await FileRoads().keep(KEY, LEARNED)
        assert await FileRoads().recall(KEY) is None
    assert "not remembered" in caplog.text
