"""Two daemons on one project: nothing of either is lost, and none that died is waited for."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from llamagent_server.core.messages import AssistantMessage, UserMessage
from llamagent_server.core.records import event_record, message_record, replay, session_record
from llamagent_server.errors import Busy
from llamagent_server.store import journal, locks, places
from llamagent_server.store.sessions import SessionStore
from llamagent_server.store.trust import TrustStore
from tests.end_to_end.editor import editor
from tests.fakes import FakeOllama, say

HOLD = """
import sys
from pathlib import Path
from llamagent_server.store import locks
from llamagent_server.store.places import Place
held = locks.take(Place(Path(sys.argv[1])), sys.argv[2])
print("held" if held else "refused", flush=True)
sys.stdin.read()
"""


def holder(folder: Path, name: str) -> "subprocess.Popen[str]":
    """Another process that has taken the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path, trusted=lambda: True)


def stored(store: SessionStore, *, keep: bool = False) -> str:
    """A conversation of two messages and an event; with `keep` it stays in use."""
    begun = store.create(lambda session: session_record(session, "2026-11-29T14:05:33Z", "m"))
    begun.append(message_record(UserMessage("set x")))
    begun.append(event_record({"seq": 4, "session": begun.session, "kind": "notice"}))
    begun.append(message_record(AssistantMessage("done")))
    if not keep:
        begun.close()
    return begun.session


def shelf(project: Path) -> set[str]:
    return {path.name for path in (project / ".llamagent" / "sessions").iterdir()}


def test_a_lock_is_anothers_until_that_process_is_killed_and_leaves_no_file(tmp_path: Path) -> None:
    tmp_path = tmp_path.resolve()
    place = places.Place(tmp_path)
    other = holder(tmp_path, "x.lock")
    assert locks.take(place, "x.lock") is None
    other.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
    other.communicate()
    held = locks.take(place, "x.lock")
    assert held is not None
    assert locks.take(place, "x.lock") is None
    held.release()
    assert list(tmp_path.iterdir()) == []


def test_what_is_in_use_elsewhere_is_gone_on_with_in_a_copy(tmp_path: Path, store: SessionStore) -> None:
    session = stored(store, keep=True)
    whole = (tmp_path / ".llamagent" / "sessions" / f"{session}.jsonl").read_bytes()
    other = SessionStore(tmp_path, trusted=lambda: True)
    opened = other.open(session)
    copy = opened.journal.session
    assert copy != session and opened.title == "set x (copy)"
    assert opened.problem is not None and "in use in another window" in opened.problem
    assert replay(opened.records).messages == (UserMessage("set x"), AssistantMessage("done"))
    assert shelf(tmp_path) == {f"{session}.jsonl", f"{session}.lock"}, "nothing is stored before the first word"
    assert [(event["seq"], event["session"]) for event in other.trace(copy).after(-1)] == [(4, copy)]
    opened.journal.append(message_record(UserMessage("more")))
    assert (tmp_path / ".llamagent" / "sessions" / f"{session}.jsonl").read_bytes() == whole
    assert [(event["seq"], event["session"]) for event in other.trace(copy).after(-1)] == [(4, copy)]
    assert {(row.id, row.title, row.messages) for row in other.sessions()} == {
        (session, "set x", 2),
        (copy, "set x (copy)", 3),
    }
    opened.journal.close()
    again = other.open(copy)
    assert again.problem is None and replay(again.records).messages[-1] == UserMessage("more")


def test_what_is_in_use_elsewhere_is_not_deleted(tmp_path: Path, store: SessionStore) -> None:
    session = stored(store, keep=True)
    with pytest.raises(Busy):
        SessionStore(tmp_path, trusted=lambda: True).delete(session)
    assert f"{session}.jsonl" in shelf(tmp_path)


def test_what_killed_daemons_left_behind_goes_with_the_first_look(tmp_path: Path, store: SessionStore) -> None:
    session = stored(store)
    folder = tmp_path / ".llamagent" / "sessions"
    for left in (f"{session}.lock", "2026-01-01T00-00-00-aaaa.lock", "2026-01-01T00-00-00-aaaa.jsonl"):
        (folder / left).touch()
    used = holder(folder.resolve(), "used.lock")
    assert [row.id for row in SessionStore(tmp_path, trusted=lambda: True).sessions()] == [session]
    assert shelf(tmp_path) == {f"{session}.jsonl", "used.lock"}
    used.communicate()


def test_nothing_is_removed_from_a_folder_that_is_not_trusted(tmp_path: Path) -> None:
    folder = tmp_path / ".llamagent" / "sessions"
    folder.mkdir(parents=True)
    (folder / "theirs.lock").touch()
    (folder / "theirs.jsonl").touch()
    for trusted in (None, False):
        assert SessionStore(tmp_path, trusted=lambda: trusted).sessions() == ()  # noqa: B023
    assert shelf(tmp_path) == {"theirs.lock", "theirs.jsonl"}


def test_where_no_lock_can_be_made_a_conversation_is_opened_all_the_same(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = stored(store)

    def refused(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(places, "open_to_lock", refused)
    opened = store.open(session)
    assert opened.problem is None and opened.journal.session == session


# --- Trust ----------------------------------------------------------------------------------------------------------


ANSWER = """
import sys
from pathlib import Path
from llamagent_server.store.trust import TrustStore
store = TrustStore()
print("ready", flush=True)
sys.stdin.readline()
for folder in sys.argv[1:]:
    store.set_trusted(Path(folder), True)
print(store.problem)
"""


def test_daemons_that_answer_at_the_same_time_lose_no_answer(tmp_path: Path) -> None:
    home = places.user_place().path
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ANSWER, *(str(tmp_path / f"{who}-{number}") for number in range(5))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for who in range(3)
    ]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate()[0] for process in processes] == ["None\n"] * 3
    remembered = json.loads((home / "trust.json").read_text())["folders"]
    assert len(remembered) == 15 and all(entry["trusted"] is True for entry in remembered.values())
    assert [path.name for path in home.iterdir()] == ["trust.json"]


def test_a_store_that_another_holds_for_too_long_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llamagent_server.store.trust.LOCK_SECONDS", 0.0)
    TrustStore().set_trusted(tmp_path, False)
    other = holder(places.user_place().path, "trust.json.lock")
    store = TrustStore()
    store.set_trusted(tmp_path, True)
    assert store.problem is not None and "another process" in store.problem
    assert store.is_trusted(tmp_path) is True and TrustStore().is_trusted(tmp_path) is False
    other.communicate()


# --- Whole daemons --------------------------------------------------------------------------------------------------


async def test_a_second_editor_says_so_and_goes_on_in_a_copy(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    with FakeOllama(replies=[say("one"), say("two"), say("three"), say("four")]) as server:
        async with (
            editor(project, home, url=server.url) as first,
            editor(project, home, url=server.url) as second,
        ):
            session = (await first.ask("hello"))["session"]
            resumed = await second.command("resume", ref=1)
            assert resumed["session"] != session and resumed["title"] == "hello (copy)"
            (told,) = second.asked("window/showMessage")
            assert "in use in another window" in told["message"]
            assert (await second.ask("and?"))["session"] == resumed["session"]
            # An editor that names the conversation that it knows gets to the same copy.
            assert (await second.ask("more", session=session))["session"] == resumed["session"]
            assert (await first.ask("still mine"))["session"] == session
            rows = (await first.command("sessions"))["sessions"]
            assert {(row["title"], row["messages"]) for row in rows} == {("hello", 4), ("hello (copy)", 6)}
            refused = await second.failing("delete_session", ref=session)
            assert refused["data"]["kind"] == "busy"
        async with editor(project, home, url=server.url) as third:
            assert (await third.command("resume", ref=session))["session"] == session
            assert third.asked("window/showMessage") == []


def test_names_of_locks_are_no_conversations() -> None:
    assert not journal.lock_name("a").endswith((".jsonl", ".json"))
