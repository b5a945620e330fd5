"""Trust is the person's own: by real path, remembered whole or not at all, and never more than what was said."""

import json
import os
import stat
from pathlib import Path

import pytest

from llamagent_server.store import places
from llamagent_server.store.trust import MAX_SEEN, TrustStore


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def file() -> Path:
    return places.user_folder() / "trust.json"


def test_nobody_was_asked_at_first_and_nothing_is_written(project: Path, file: Path) -> None:
    assert TrustStore().is_trusted(project) is None
    assert not file.parent.exists()


@pytest.mark.parametrize("answer", [True, False])
def test_an_answer_is_remembered(project: Path, file: Path, answer: bool) -> None:
    store = TrustStore()
    store.set_trusted(project, answer)
    assert store.problem is None and store.is_trusted(project) is answer
    assert TrustStore().is_trusted(project) is answer
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [found.name for found in file.parent.iterdir()] == ["trust.json"]


def test_only_that_folder_is_meant(project: Path, tmp_path: Path) -> None:
    store = TrustStore()
    store.set_trusted(project, True)
    (project / "inner").mkdir()
    for other in (tmp_path, project / "inner", tmp_path / "project2"):
        assert store.is_trusted(other) is None


@pytest.mark.skipif(os.name != "posix", reason="only on Unix: links")
def test_a_folder_is_known_by_its_real_path(project: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(project)
    store = TrustStore()
    store.set_trusted(link, True)
    assert store.is_trusted(project) is True
    other = tmp_path / "other"
    other.mkdir()
    link.unlink()
    link.symlink_to(other)
    assert store.is_trusted(link) is None


def test_other_answers_stay(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    first, second = TrustStore(), TrustStore()
    first.set_trusted(project, True)
    second.set_trusted(other, True)
    second.set_trusted(project, False)
    assert first.is_trusted(project) is False and first.is_trusted(other) is True


@pytest.mark.parametrize("content", ["", "{", "[]", '{"folders": []}', "null", "\x00", "[" * 100_000])
def test_a_damaged_file_trusts_nothing_and_is_kept(project: Path, file: Path, content: str) -> None:
    TrustStore().set_trusted(project, True)
    file.write_text(content)
    store = TrustStore()
    assert store.is_trusted(project) is None
    assert store.problem is not None and str(file) in store.problem
    store.set_trusted(project, True)
    assert store.problem is None and TrustStore().is_trusted(project) is True
    assert file.with_name("trust.json.damaged").read_text() == content


@pytest.mark.parametrize("entry", [1, "yes", None, [], {}, {"trusted": 1}, {"trusted": "true"}, True])
def test_only_a_plain_yes_is_one(project: Path, file: Path, entry: object) -> None:
    TrustStore().set_trusted(project, True)
    file.write_text(json.dumps({"folders": {os.path.normcase(project.resolve()): entry}}))
    assert TrustStore().is_trusted(project) is None


def test_an_answer_that_cannot_be_written_holds_in_memory_and_is_said(project: Path, file: Path) -> None:
    file.parent.parent.mkdir(parents=True, exist_ok=True)
    file.parent.write_text("in the way")
    store = TrustStore()
    store.set_trusted(project, True)
    assert store.problem is not None and "not remembered" in store.problem
    assert store.is_trusted(project) is True
    store.set_trusted(project, False)
    assert store.is_trusted(project) is False
    assert TrustStore().is_trusted(project) is None


def test_what_a_killed_daemon_left_behind_is_swept_away_by_the_next(project: Path, file: Path) -> None:
    TrustStore().set_trusted(project, True)
    half = file.with_name(".trust.json.00000000.tmp")
    half.write_text("{")
    file.with_name("trust.json.lock").touch()
    assert TrustStore().is_trusted(project) is True
    assert [found.name for found in file.parent.iterdir()] == ["trust.json"]


def test_a_person_without_a_home_is_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMAGENT_HOME", os.path.join(os.devnull, ".llamagent"))  # noqa: PTH118
    store = TrustStore()
    assert store.is_trusted(project) is None
    store.set_trusted(project, True)
    assert store.problem is not None and store.is_trusted(project) is True


def test_what_a_person_saw_of_a_folder_is_remembered_with_their_answer(project: Path) -> None:
    store = TrustStore()
    assert store.seen(project) == frozenset()
    store.see(project, ["x"])
    assert store.seen(project) == frozenset() and store.is_trusted(project) is None
    store.set_trusted(project, True, ["a", "b"])
    store.see(project, ["c"])
    assert TrustStore().seen(project) == {"a", "b", "c"} and TrustStore().is_trusted(project) is True
    store.set_trusted(project, True, ["d"])
    assert TrustStore().seen(project) == {"d"}
    store.set_trusted(project, False)
    store.see(project, ["e"])
    assert TrustStore().seen(project) == frozenset() and TrustStore().is_trusted(project) is False


def test_a_file_of_the_time_before_that_is_read_on_and_takes_part_from_the_first_look(
    project: Path, file: Path
) -> None:
    file.parent.mkdir(parents=True)
    entry = {"trusted": True, "since": "2026-11-01T10:00:00+00:00"}
    file.write_text(json.dumps({"version": 1, "folders": {os.path.normcase(project.resolve()): entry}}))
    store = TrustStore()
    assert store.is_trusted(project) is True and store.seen(project) is None
    store.see(project, [])
    assert TrustStore().is_trusted(project) is True and TrustStore().seen(project) == frozenset()


@pytest.mark.parametrize("seen", [1, "abc", None, {"a": 1}, [1, None, ["a"]]])
def test_a_wrong_list_of_what_was_seen_is_nothing_seen(project: Path, file: Path, seen: object) -> None:
    file.parent.mkdir(parents=True)
    folders = {os.path.normcase(project.resolve()): {"trusted": True, "seen": seen}}
    file.write_text(json.dumps({"version": 1, "folders": folders}))
    assert TrustStore().is_trusted(project) is True and TrustStore().seen(project) == frozenset()


def test_of_what_was_seen_the_oldest_is_forgotten(project: Path) -> None:
    store = TrustStore()
    store.set_trusted(project, True, map(str, range(MAX_SEEN)))
    store.see(project, ["new"])
    seen = store.seen(project)
    assert seen is not None and len(seen) == MAX_SEEN and "new" in seen and "0" not in seen


def test_what_is_seen_holds_in_memory_where_it_cannot_be_written(project: Path, file: Path) -> None:
    file.parent.parent.mkdir(parents=True, exist_ok=True)
    file.parent.write_text("in the way")
    store = TrustStore()
    store.set_trusted(project, True, ["a"])
    store.see(project, ["b"])
    assert store.seen(project) == {"a", "b"} and store.problem is not None
