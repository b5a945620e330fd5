"""A journal keeps every record that it can, whatever happens to its file, and never raises."""

import errno
import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.core.messages import Json
from llamagent_server.store import journal, places
from llamagent_server.store.journal import Beginning, FileJournal, encode, parse
from llamagent_server.store.places import Place

HEADER: dict[str, Json] = {"type": "session", "id": "s", "model": "m"}


def record(number: int) -> dict[str, Json]:
    return {"type": "message", "role": "user", "content": f"word {number}", "task": True}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(places.real(tmp_path), ("sessions",))


def new(place: Place) -> FileJournal:
    return FileJournal("s", place, "s.jsonl", beginning=Beginning((HEADER,), lambda: places.make_folder(place)))


def gone_on_with(place: Place) -> FileJournal:
    replay = parse(content(place))
    return FileJournal("s", place, "s.jsonl", whole=replay.whole)


def content(place: Place) -> bytes:
    return (place.path / "s.jsonl").read_bytes()


def test_nothing_is_on_disk_before_the_first_record(place: Place) -> None:
    begun = new(place)
    begun.sync()
    assert not place.path.exists() and begun.problem is None
    begun.append(record(1))
    assert parse(content(place)).records == (HEADER, record(1))


def test_a_journal_and_its_folder_are_private(place: Place) -> None:
    new(place).append(record(1))
    if os.name == "posix":
        assert stat.S_IMODE((place.path / "s.jsonl").stat().st_mode) == 0o600
        assert stat.S_IMODE(place.path.stat().st_mode) == 0o700


def test_what_is_appended_comes_back(place: Place) -> None:
    begun = new(place)
    odd: dict[str, Json] = {"type": "x", "text": 'é 💡 \u2028 \r\n \x00 \ud800 "', "deep": [[{"a": [1.5, None, True]}]]}
    begun.append(odd)
    begun.sync()
    gone_on_with(place).append(record(2))
    replay = parse(content(place))
    assert replay.records == (HEADER, odd, record(2))
    assert not replay.torn and replay.damaged is None and replay.whole


@given(
    st.dictionaries(st.text(), st.text() | st.integers() | st.floats(allow_nan=False) | st.none() | st.lists(st.text()))
)
def test_any_record_is_one_line_and_comes_back(fields: dict[str, Json]) -> None:
    line = encode(fields)
    assert line.endswith(b"\n") and line.count(b"\n") == 1 and b"\r" not in line
    assert fields.get("type") == "torn" or parse(line).records == (fields,)


def test_cut_off_at_any_byte_only_the_last_record_is_missing() -> None:
    whole = b"".join(map(encode, [HEADER, record(1), record(2)]))
    lengths = [len(encode(each)) for each in (HEADER, record(1), record(2))]
    for cut in range(len(whole) + 1):
        complete = sum(cut >= sum(lengths[:number]) - 1 for number in (1, 2, 3))
        replay = parse(whole[:cut])
        assert len(replay.records) == complete, cut
        assert replay.damaged is None


def test_going_on_after_any_cut_loses_nothing_more_and_is_no_damage(place: Place) -> None:
    whole = b"".join(map(encode, [HEADER, record(1)]))
    places.make_folder(place)
    for cut in range(len(whole) + 1):
        (place.path / "s.jsonl").write_bytes(whole[:cut])
        before = parse(whole[:cut]).records
        going_on = gone_on_with(place)
        going_on.append(record(2))
        going_on.append(record(3))
        replay = parse(content(place))
        assert replay.records == (*before, record(2), record(3)), cut
        assert replay.damaged is None and not replay.torn


@pytest.mark.parametrize("garbage", [b"\x00\x00\x00", b"\xff\xfe{", b"{]", b"[1]", b'"text"', b"", b"[" * 100_000])
def test_a_damaged_line_is_said_and_costs_only_itself(garbage: bytes) -> None:
    replay = parse(encode(HEADER) + garbage + b"\n" + encode(record(2)))
    assert replay.records == (HEADER, record(2))
    assert replay.damaged is not None and "Line 2 " in replay.damaged and not replay.torn


def test_several_damaged_lines_are_counted() -> None:
    assert (parse(b"x\n{}\ny\n").damaged or "").startswith("2 lines (the first is line 1)")


def test_a_folder_that_cannot_be_made_is_a_problem_and_what_waits_is_written_later(place: Place) -> None:
    blocked = place.path
    blocked.write_text("in the way")
    begun = new(place)
    begun.append(record(1))
    begun.append(record(2))
    begun.sync()
    assert begun.problem is not None and str(blocked) in begun.problem and "memory" in begun.problem
    blocked.unlink()
    begun.append(record(3))
    assert begun.problem is None
    assert parse(content(place)).records == (HEADER, record(1), record(2), record(3))


def test_a_deleted_file_is_said_and_not_made_again(place: Place) -> None:
    begun = new(place)
    begun.append(record(1))
    (place.path / "s.jsonl").unlink()
    begun.append(record(2))
    assert "was deleted" in (begun.problem or "")
    assert not (place.path / "s.jsonl").exists()


def test_a_file_that_is_there_already_is_never_written_into(place: Place) -> None:
    places.make_folder(place)
    (place.path / "s.jsonl").write_bytes(b"other\n")
    begun = new(place)
    begun.append(record(1))
    assert begun.problem is not None and content(place) == b"other\n"


@pytest.mark.skipif(os.name != "posix", reason="only on Unix: links and FIFOs")
def test_a_link_put_in_the_way_is_not_followed(place: Place, tmp_path: Path) -> None:
    begun = new(place)
    begun.append(record(1))
    elsewhere = tmp_path / "elsewhere"
    place.path.rename(elsewhere)
    place.path.symlink_to(elsewhere)
    begun.append(record(2))
    assert begun.problem is not None
    assert parse((elsewhere / "s.jsonl").read_bytes()).records == (HEADER, record(1))
    place.path.unlink()
    elsewhere.rename(place.path)
    (place.path / "s.jsonl").rename(tmp_path / "target")
    (place.path / "s.jsonl").symlink_to(tmp_path / "target")
    begun.append(record(3))
    assert begun.problem is not None and parse((tmp_path / "target").read_bytes()).records == (HEADER, record(1))
    (place.path / "s.jsonl").unlink()
    os.mkfifo(place.path / "s.jsonl")
    begun.append(record(4))
    assert begun.problem is not None


class SmallDisk:
    """Takes the place of `places.append`: a disk that takes `room` more bytes of what is written, and then none."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._append = places.append

    def append(self, place: Place, name: str, data: bytes) -> int:
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = self._append(place, name, data[: self.room])
        self.room -= taken
        return taken


def test_a_full_disk_at_any_byte_loses_nothing_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = [record(number) for number in range(4)]
    total = len(b"".join(map(encode, [HEADER, *sent])))
    for room in range(total + 1):
        place = Place(places.real(tmp_path), (f"at-{room}",))
        with monkeypatch.context() as patched:
            disk = SmallDisk(room)
            patched.setattr(places, "append", disk.append)
            begun = new(place)
            for each in sent[:3]:
                begun.append(each)
            if begun.problem is not None:
                assert os.strerror(errno.ENOSPC) in begun.problem
            disk.room = 7  # a little, and full again: even what closes a cut line may be cut
            begun.sync()
            disk.room = 1_000_000
            begun.append(sent[3])
        assert begun.problem is None
        replay = parse(content(place))
        assert replay.records == (HEADER, *sent), room
        assert replay.damaged is None and not replay.torn


def test_what_waits_for_a_full_disk_is_bounded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MAX_WAITING_BYTES", 500)
    disk = SmallDisk(0)
    monkeypatch.setattr(places, "append", disk.append)
    begun = new(place)
    for number in range(20):
        begun.append(record(number))
    disk.room = 10**6
    begun.append(record(20))
    begun.sync()
    assert begun.problem is not None and parse(content(place)).records == ()


def test_what_is_no_json_is_a_problem_and_the_rest_is_kept(place: Place) -> None:
    begun = new(place)
    deep: Json = []
    for _ in range(100_000):
        deep = [deep]
    begun.append({"type": "x", "deep": deep})
    begun.append(record(1))
    assert begun.problem is not None and "could not be written down" in begun.problem
    assert parse(content(place)).records == (HEADER, record(1))


def test_each_record_is_written_at_once(place: Place) -> None:
    begun = new(place)
    for number in range(5):
        begun.append(record(number))
        assert json.loads(content(place).splitlines()[-1]) == record(number)
