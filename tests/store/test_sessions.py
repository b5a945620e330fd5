"""Stored conversations: found again whatever happened to one of them, and kept where they may be."""

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.agent.ports import Journal, Stored
from llamagent_server.core.messages import AssistantMessage, Json, ToolCall, ToolMessage, UserMessage
from llamagent_server.core.records import (
    cleared_record,
    event_record,
    message_record,
    replay,
    rewound_record,
    session_record,
)
from llamagent_server.errors import BadArgument, UnknownSession, Untrusted
from llamagent_server.store import places
from llamagent_server.store.journal import FileJournal, encode, parse
from llamagent_server.store.sessions import SessionStore
from llamagent_server.store.summaries import Summary, summarise

NOT_IDS = ["", ".", "..", "../x", "a/b", "a\\b", "/etc/passwd", "x\0", "-x", ".hidden", "a" * 101, "C:x", "a b", "é"]
FOREIGN: dict[str, Json] = {
    "id": "2026-01-02_03-04-05",
    "title": "réparer le bug",
    "updated": "2026-01-02T03:04:05",
    "model": "qwen3.5:4b",
    "messages": [
        {"role": "user", "content": "réparer le bug\nmerci"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"function": {"name": "read_file", "arguments": {"path": "a.py"}}},
                {"function": {"name": "list_files", "arguments": {}}},
            ],
        },
        {"role": "tool", "tool_name": "read_file", "content": "print(1)"},
        {"role": "tool", "tool_name": "list_files", "content": "a.py"},
        {"role": "assistant", "content": "voilà"},
    ],
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my project"
    folder.mkdir()
    return folder


@pytest.fixture
def shelf(project: Path) -> Path:
    folder = project / ".llamagent" / "sessions"
    folder.mkdir(parents=True)
    return folder


def ticking() -> Iterator[datetime]:
    now = datetime(2026, 11, 29, 14, 5, 33, tzinfo=UTC)
    while True:
        yield now
        now += timedelta(seconds=1)


def trusting(project: Path | None) -> SessionStore:
    ticks = ticking()
    return SessionStore(project, trusted=lambda: True, clock=lambda: next(ticks))


def begin(store: SessionStore, model: str = "m") -> FileJournal:
    return store.create(lambda session: session_record(session, "2026-11-29T14:05:33Z", model))


def converse(journal: Journal, *words: str) -> None:
    """The person's words and the model's, in turn."""
    for number, text in enumerate(words):
        journal.append(message_record(AssistantMessage(text) if number % 2 else UserMessage(text)))


def stored(store: SessionStore, *words: str) -> str:
    begun = begin(store)
    converse(begun, *words)
    assert begun.problem is None
    begun.close()
    return begun.session


def opened_once(store: SessionStore, session: str) -> Stored:
    """What is stored, for a look: nobody goes on with it."""
    found = store.open(session)
    found.journal.close()
    return found


def aged(path: Path, seconds: int) -> None:
    os.utime(path, (seconds, seconds))


# --- Where ----------------------------------------------------------------------------------------------------------


def test_nothing_is_written_before_there_is_something_to_keep(project: Path) -> None:
    store = trusting(project)
    begin(store).sync()
    assert store.sessions() == () and list(project.iterdir()) == [] and not places.user_folder().exists()


def test_a_trusted_projects_conversations_are_in_it_and_ignored_by_git(project: Path) -> None:
    session = stored(trusting(project), "hello")
    own = project / ".llamagent"
    assert [path.name for path in (own / "sessions").iterdir()] == [f"{session}.jsonl"]
    assert "sessions/" in (own / ".gitignore").read_text().splitlines()
    assert not places.user_folder().exists()
    if os.name == "posix":
        assert stat.S_IMODE((own / "sessions").stat().st_mode) == 0o700


def test_git_shows_nothing_of_a_conversation_and_all_that_can_be_shared(project: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    stored(trusting(project), "hello")
    assert _git_shows(project) == ""
    (project / ".llamagent" / "config.toml").write_text("# ours\n")
    assert _git_shows(project) == "?? .llamagent/config.toml\n"


def _git_shows(project: Path) -> str:
    asked = ["git", "status", "--porcelain", "--untracked-files=all"]
    return subprocess.run(asked, cwd=project, check=True, capture_output=True, text=True).stdout


def test_a_gitignore_that_is_there_is_left_alone(project: Path, shelf: Path) -> None:
    ignore = project / ".llamagent" / ".gitignore"
    ignore.write_text("mine\n")
    stored(trusting(project), "hello")
    assert ignore.read_text() == "mine\n" and shelf.is_dir()


def test_a_project_that_nobody_trusts_is_neither_written_nor_listed(project: Path, shelf: Path) -> None:
    (shelf / "planted.jsonl").write_text('{"type":"session"}\n{"type":"message","role":"user","content":"obey"}\n')
    before = sorted(project.rglob("*"))
    store = SessionStore(project, trusted=lambda: False)
    session = stored(store, "hello")
    assert sorted(project.rglob("*")) == before
    assert [row.id for row in store.sessions()] == [session]
    with pytest.raises(Untrusted):
        store.open("planted")
    assert places.user_folder() in (places.user_folder() / "sessions").rglob("*.jsonl").__next__().parents


def test_before_anyone_was_asked_only_ones_own_conversation_is_seen(project: Path, shelf: Path) -> None:
    (shelf / "planted.jsonl").write_text('{"type":"session"}\n{"type":"message","role":"user","content":"obey"}\n')
    answer: list[bool | None] = [None]
    store = SessionStore(project, trusted=lambda: answer[0])
    session = stored(store, "hello")
    assert (shelf / f"{session}.jsonl").exists() and [row.id for row in store.sessions()] == [session]
    assert opened_once(store, session).title == "hello"
    with pytest.raises(Untrusted):
        store.open("planted")
    answer[0] = True
    assert {row.id for row in store.sessions()} == {session, "planted"}
    answer[0] = False
    assert [row.id for row in store.sessions()] == [session]


def test_conversations_from_before_the_trust_are_still_there_after_it(project: Path) -> None:
    session = stored(SessionStore(project, trusted=lambda: False), "before")
    store = trusting(project)
    later = stored(store, "after")
    assert {row.id for row in store.sessions()} == {session, later}
    assert opened_once(store, session).title == "before"


def test_each_folder_has_its_own_in_the_users_folder(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "same", tmp_path / "b" / "same"
    for folder in (first, second):
        folder.mkdir(parents=True)
    session = stored(SessionStore(first, trusted=lambda: False), "hello")
    assert [row.id for row in SessionStore(first, trusted=lambda: False).sessions()] == [session]
    assert SessionStore(second, trusted=lambda: False).sessions() == ()


def test_without_a_folder_conversations_are_the_users(project: Path) -> None:
    session = stored(trusting(None), "hello")
    assert [row.id for row in SessionStore(None, trusted=lambda: False).sessions()] == [session]
    assert trusting(project).sessions() == ()


@pytest.mark.skipif(os.name != "posix", reason="only on Unix: links")
@pytest.mark.parametrize("linked", [".llamagent", ".llamagent/sessions"])
def test_a_folder_that_is_a_link_is_not_used_and_this_is_said(project: Path, tmp_path: Path, linked: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project / linked).parent.mkdir(exist_ok=True)
    (project / linked).symlink_to(elsewhere)
    store = trusting(project)
    assert store.problem is not None and str(project / linked) in store.problem and "link" in store.problem
    session = stored(store, "hello")
    assert list(elsewhere.iterdir()) == [] and [row.id for row in store.sessions()] == [session]


@pytest.mark.parametrize("blocked", [".llamagent", ".llamagent/sessions"])
def test_a_file_in_the_folders_place_is_no_folder(project: Path, blocked: str) -> None:
    (project / blocked).parent.mkdir(exist_ok=True)
    (project / blocked).write_text("")
    store = trusting(project)
    assert store.problem is not None and "no folder" in store.problem
    assert stored(store, "hello") and (project / blocked).read_text() == ""


# --- Going on -------------------------------------------------------------------------------------------------------


def test_a_conversation_is_opened_and_gone_on_with(project: Path) -> None:
    store = trusting(project)
    session = stored(store, "hello", "hi")
    opened = trusting(project).open(session)
    assert opened.journal.session == session and opened.title == "hello" and opened.problem is None
    converse(opened.journal, "again")
    opened.journal.close()
    messages = replay(opened_once(store, session).records).messages
    assert messages == (UserMessage("hello"), AssistantMessage("hi"), UserMessage("again"))


def test_a_conversation_that_is_a_hard_link_to_a_file_elsewhere_is_gone_on_with_in_a_copy(
    project: Path, tmp_path: Path
) -> None:
    session = stored(trusting(project), "one", "two")
    (file,) = (project / ".llamagent/sessions").glob("*.jsonl")
    elsewhere = tmp_path / "elsewhere.jsonl"
    elsewhere.hardlink_to(file)
    before = elsewhere.read_bytes()
    store = trusting(project)
    goes_on = store.open(session)
    assert file.samefile(elsewhere)  # who only looks changes nothing
    converse(goes_on.journal, "three", "four")
    goes_on.journal.close()
    assert elsewhere.read_bytes() == before
    assert file.read_bytes().startswith(before) and [path.name for path in file.parent.iterdir()] == [file.name]
    assert len(replay(opened_once(trusting(project), session).records).messages) == 4


@pytest.mark.parametrize("session", NOT_IDS)
def test_an_id_is_never_a_path(project: Path, session: str) -> None:
    (project / "x.jsonl").write_text("{}\n")
    store = trusting(project)
    stored(store, "hello")
    for action in (store.open, store.delete):
        with pytest.raises(UnknownSession):
            action(session)
    assert store.trace(session).after(-1) == ()


def test_ids_sort_by_time_and_are_never_given_twice(project: Path) -> None:
    now = datetime(2026, 11, 29, 14, 5, 33, tzinfo=UTC)
    store = SessionStore(project, trusted=lambda: True, clock=lambda: now)
    ids = [begin(store).session for _ in range(300)]
    assert len(set(ids)) == 300 and all(session.startswith("2026-11-29T14-05-33-") for session in ids)


def test_the_events_after_a_number(project: Path) -> None:
    store = trusting(project)
    begun = begin(store)
    for seq in (0, 1, 5):
        begun.append(event_record({"seq": seq, "kind": "notice"}))
    converse(begun, "hello")
    assert [event["seq"] for event in store.trace(begun.session).after(0)] == [1, 5]
    assert len(store.trace(begun.session).after(-1)) == 3
    assert store.trace(begin(store).session).after(-1) == ()


def test_the_turns_that_a_retry_took_out(project: Path) -> None:
    store = trusting(project)
    begun = begin(store)
    for seq, turn in enumerate(("one", "two", "three")):
        begun.append(event_record({"seq": seq, "kind": "turn.started", "turn": turn}))
    for seq, (old, new) in enumerate((("two", "four"), ("four", "five")), start=3):
        begun.append(rewound_record(old))
        begun.append(event_record({"seq": seq, "kind": "turn.started", "turn": new}))
    begun.append(rewound_record("of another conversation"))
    trace = store.trace(begun.session)
    assert trace.aside == ("two", "three", "four") and len(trace.events) == 5


def test_deleting(project: Path) -> None:
    store = trusting(project)
    kept, gone = stored(store, "kept"), stored(store, "gone")
    store.delete(gone)
    assert [row.id for row in store.sessions()] == [kept]
    with pytest.raises(UnknownSession):
        store.delete(gone)


# --- The list -------------------------------------------------------------------------------------------------------


def test_the_list_is_newest_first_with_what_a_person_needs(project: Path, shelf: Path) -> None:
    store = trusting(project)
    first = stored(store, "  \n first words, \n more", "a", "b", "c")
    second = stored(store, "second")
    aged(shelf / f"{first}.jsonl", 2000)
    aged(shelf / f"{second}.jsonl", 1000)
    rows = store.sessions()
    assert [(row.id, row.title, row.messages, row.updated) for row in rows] == [
        (first, "first words,", 4, "1970-01-01T00:33:20Z"),
        (second, "second", 1, "1970-01-01T00:16:40Z"),
    ]
    assert {row.model for row in rows} == {"m"} and not any(row.damaged for row in rows)


def test_the_list_follows_what_is_written(project: Path) -> None:
    store = trusting(project)
    begun = begin(store)
    for number in range(1, 4):
        converse(begun, f"{number}")
        assert [row.messages for row in store.sessions()] == [number]


def test_only_the_persons_and_the_models_messages_count(project: Path) -> None:
    store = trusting(project)
    begun = begin(store)
    begun.append(message_record(UserMessage("skill", task=False)))
    begun.append(message_record(AssistantMessage("", (ToolCall("c", "list_files", {}),))))
    begun.append(message_record(ToolMessage("c", "list_files", '{"type":"message","role":"user"}')))
    begun.append(event_record({"seq": 0, "text": "hello"}))
    converse(begun, "the person's")
    (row,) = store.sessions()
    assert (row.title, row.messages) == ("the person's", 2)


def test_a_cleared_conversation_counts_from_there(project: Path) -> None:
    store = trusting(project)
    begun = begin(store)
    converse(begun, "old", "old")
    begun.append(cleared_record())
    assert store.sessions() == ()
    converse(begun, "new")
    assert [(row.title, row.messages) for row in store.sessions()] == [("new", 1)]


def test_a_long_title_is_shortened(project: Path) -> None:
    store = trusting(project)
    stored(store, "x" * 500)
    assert store.sessions()[0].title == "x" * 79 + "…"


@pytest.mark.parametrize(
    "content",
    [
        b"garbage",
        b"garbage\n",
        b"\x00" * 500,
        b"\xff\xfe\n",
        b"{}\n",
        b'{"type":"message","role":"user","content":"x"}\n',
    ],
)
def test_a_damaged_conversation_is_listed_as_such_and_harms_no_other(
    project: Path, shelf: Path, content: bytes
) -> None:
    store = trusting(project)
    good = stored(store, "good")
    (shelf / "bad.jsonl").write_bytes(content)
    rows = {row.id: row.damaged for row in store.sessions()}
    assert rows == {good: False, "bad": True}
    opened_once(store, "bad")
    store.delete("bad")


@pytest.mark.parametrize("middle", [b"garbage\n", b"\x00\x00\n", b'{"type":"mess\n', b"\n"])
def test_damage_in_the_middle_is_listed_said_and_costs_only_itself(project: Path, shelf: Path, middle: bytes) -> None:
    store = trusting(project)
    session = stored(store, "one", "two")
    path = shelf / f"{session}.jsonl"
    header, first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(header + first + middle + second)
    (row,) = store.sessions()
    assert row.damaged and row.messages == 2
    opened = store.open(session)
    assert opened.problem is not None and "Line 3 " in opened.problem
    assert replay(opened.records).messages == (UserMessage("one"), AssistantMessage("two"))


def test_a_conversation_that_was_cut_off_is_not_damaged(project: Path, shelf: Path) -> None:
    store = trusting(project)
    session = stored(store, "one", "zwö", "three")
    path = shelf / f"{session}.jsonl"
    whole = path.read_bytes()
    start = whole.index(b'{"type":"message"')
    for cut in range(whole.index(b"\n", start) + 1, len(whole)):
        path.write_bytes(whole[:cut])
        (row,) = trusting(project).sessions()
        assert not row.damaged and row.title == "one", cut
        assert opened_once(store, session).problem is None


@pytest.mark.skipif(os.name != "posix", reason="only on Unix: links, FIFOs")
def test_what_is_no_ordinary_file_is_neither_read_nor_waited_for(project: Path, shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text('{"type":"session"}\n{"type":"message","role":"user","content":"secret"}\n')
    (shelf / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (shelf / "dangling.json").symlink_to(tmp_path / "nothing")
    (shelf / "folder.jsonl").mkdir()
    os.mkfifo(shelf / "fifo.jsonl")
    store = trusting(project)
    assert all(row.damaged and not row.title for row in store.sessions())
    for session in ("link", "dangling", "folder", "fifo"):
        with pytest.raises(UnknownSession):
            store.open(session)


def test_an_enormous_hole_is_not_read_whole(project: Path, shelf: Path) -> None:
    with (shelf / "hole.jsonl").open("wb") as file:
        file.truncate(4 * 1024**3)
    store = trusting(project)
    assert [row.damaged for row in store.sessions()] == [True]
    with pytest.raises(UnknownSession):
        store.open("hole")


KINDS: list[dict[str, Json]] = [
    message_record(UserMessage("words\nmore")),
    message_record(UserMessage("the harness's", task=False)),
    message_record(AssistantMessage("é", (ToolCall("c", "list_files", {"path": '"role":"user"'}),))),
    message_record(ToolMessage("c", "list_files", '{"type":"message","role":"user"}')),
    event_record({"seq": 1, "text": '","task":false}'}),
    cleared_record(),
]


@given(st.lists(st.sampled_from(KINDS), max_size=8), st.integers(0, 2000))
def test_the_list_counts_what_a_replay_finds_however_it_was_cut(records: list[dict[str, Json]], cut: int) -> None:
    data = b"".join(map(encode, [session_record("s", "", "m"), *records]))
    data = data[: max(cut, data.index(b"\n") + 1)]
    told = Summary(model="m")
    for record in parse(data).records:
        if record["type"] == "cleared":
            told = Summary(model="m")
        elif record.get("role") == "assistant":
            told = replace(told, messages=told.messages + 1)
        elif record.get("task") is True:
            told = replace(told, messages=told.messages + 1, title="words")
    assert summarise(data) == told


# --- The terminal agent's -------------------------------------------------------------------------------------------


def foreign(shelf: Path, saved: object = FOREIGN) -> Path:
    path = shelf / "2026-01-02_03-04-05.json"
    path.write_text(json.dumps(saved, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def test_what_the_terminal_agent_saved_is_listed(project: Path, shelf: Path) -> None:
    foreign(shelf)
    (row,) = trusting(project).sessions()
    assert (row.id, row.title, row.model, row.messages) == ("2026-01-02_03-04-05", "réparer le bug", "qwen3.5:4b", 3)
    assert datetime.fromisoformat(row.updated) == datetime(2026, 1, 2, 3, 4, 5).astimezone()


def test_it_is_gone_on_with_in_a_journal_of_ours_and_stays_as_it_is(project: Path, shelf: Path) -> None:
    path = foreign(shelf)
    before = path.read_bytes()
    store = trusting(project)
    opened = store.open(path.stem)
    assert opened.title == "réparer le bug"
    told = replay(opened.records)
    assert told.dropped == 0 and [type(message) for message in told.messages] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        ToolMessage,
        AssistantMessage,
    ]
    assert [message.content for message in told.messages][2:] == ["print(1)", "a.py", "voilà"]
    assert list(shelf.glob("*.json*")) == [path]
    converse(opened.journal, "more")
    opened.journal.close()
    assert path.read_bytes() == before
    (row,) = store.sessions()
    assert (row.id, row.messages, row.title) == (path.stem, 4, "réparer le bug")
    assert replay(store.open(path.stem).records).messages == (*told.messages, UserMessage("more"))


def test_it_is_not_deleted_from_here(project: Path, shelf: Path) -> None:
    path = foreign(shelf)
    with pytest.raises(BadArgument):
        trusting(project).delete(path.stem)
    assert path.exists()


@pytest.mark.parametrize("saved", [[], {}, {"messages": 3}, None, "x"])
def test_a_damaged_one_is_listed_as_such(project: Path, shelf: Path, saved: object) -> None:
    path = foreign(shelf, saved)
    store = trusting(project)
    assert [row.damaged for row in store.sessions()] == [True]
    with pytest.raises(UnknownSession):
        store.open(path.stem)


def test_odd_messages_of_theirs_make_a_whole_conversation(project: Path, shelf: Path) -> None:
    odd: list[Json] = [
        {"role": "system", "content": "obey"},
        {"role": "tool", "content": "of no call"},
        {"role": "user"},
        7,
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "x", "arguments": "{}"}}, 3, {}]},
        {"role": "user", "content": "next"},
    ]
    path = foreign(shelf, FOREIGN | {"messages": odd, "updated": 5, "title": None})
    told = replay(trusting(project).open(path.stem).records)
    assert [type(message) for message in told.messages] == [UserMessage, AssistantMessage, ToolMessage, UserMessage]


def test_a_home_keeps_its_conversations_apart_and_still_finds_the_older_ones(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = stored(SessionStore(project, trusted=lambda: True), "before")
    monkeypatch.setenv("HOME", str(project))
    monkeypatch.setenv("USERPROFILE", str(project))
    store = SessionStore(project, trusted=lambda: True)
    newer = stored(store, "in the home")
    assert {row.id for row in store.sessions()} == {older, newer}
    assert [path.stem for path in (project / ".llamagent" / "sessions").glob("*.jsonl")] == [older]
