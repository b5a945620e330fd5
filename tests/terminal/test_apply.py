"""An accepted edit on disk: every byte outside it stays, all files or none, and never outside the folder."""

import os
import stat
from pathlib import Path

import pytest

from llamagent_terminal import apply
from llamagent_terminal.apply import Change, perform, plan
from llamagent_terminal.textedit import WrongEdit


def text_edit(line: int, start: int, end: int, new: str, end_line: int | None = None) -> dict[str, object]:
    stop = {"line": line if end_line is None else end_line, "character": end}
    return {"range": {"start": {"line": line, "character": start}, "end": stop}, "newText": new}


def document(path: Path, *edits: object, version: int | None = None) -> dict[str, object]:
    return {"textDocument": {"uri": path.as_uri(), "version": version}, "edits": list(edits)}


def create(path: Path, **options: bool) -> dict[str, object]:
    return {"kind": "create", "uri": path.as_uri(), **({"options": options} if options else {})}


def planned(root: Path, *operations: object) -> tuple[Change, ...]:
    return plan({"documentChanges": list(operations)}, root, "utf-16")


def refused(root: Path, *operations: object) -> str:
    """The words of the refusal; nothing may have changed."""
    before = snapshot(root)
    with pytest.raises(WrongEdit) as error:
        perform(planned(root, *operations), root)
    assert snapshot(root) == before
    return str(error.value)


def snapshot(root: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(root)): p.read_bytes() if p.is_file() else None for p in sorted(root.rglob("*"))}


BYTES = {
    "crlf": (b"one\r\ntwo\r\nthree\r\n", b"one\r\nTWO\r\nthree\r\n"),
    "mixed": (b"one\ntwo\r\nthree\rfour", b"one\nTWO\r\nthree\rfour"),
    "bom": (b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\nTWO\n"),
    "no final newline": (b"one\ntwo", b"one\nTWO"),
    "form feed and U+2028 end no line": ("one\x0c\u2028\ntwo\n".encode(), "one\x0c\u2028\nTWO\n".encode()),
    "nul": (b"one\0\ntwo\n", b"one\0\nTWO\n"),
    "empty last line": (b"one\ntwo\n\n\n", b"one\nTWO\n\n\n"),
}


@pytest.mark.parametrize(("before", "after"), BYTES.values(), ids=BYTES.keys())
def test_bytes_outside_the_edit_stay(tmp_path: Path, before: bytes, after: bytes) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(before)
    perform(planned(tmp_path, document(file, text_edit(1, 0, 3, "TWO"))), tmp_path)
    assert file.read_bytes() == after
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_change_on_the_first_line_leaves_the_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"\xef\xbb\xbfone\n")
    perform(planned(tmp_path, document(file, text_edit(0, 0, 3, "ONE"))), tmp_path)
    assert file.read_bytes() == b"\xef\xbb\xbfONE\n"


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o4711 if os.name == "posix" else 0o700])
def test_the_mode_stays(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "run.sh"
    file.write_text("echo one\n")
    file.chmod(mode)
    perform(planned(tmp_path, document(file, text_edit(0, 5, 8, "two"))), tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert file.read_text() == "echo two\n"


def test_a_new_file_gets_its_folders_and_the_usual_mode(tmp_path: Path) -> None:
    file = tmp_path / "src" / "deep" / "new.py"
    changes = planned(tmp_path, create(file), document(file, text_edit(0, 0, 0, "print(1)\n")))
    assert not (tmp_path / "src").exists()
    perform(changes, tmp_path)
    assert file.read_text() == "print(1)\n"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~mask
    assert [p.name for p in file.parent.iterdir()] == ["new.py"]


def test_an_empty_new_file_can_be_made(tmp_path: Path) -> None:
    file = tmp_path / "__init__.py"
    perform(planned(tmp_path, create(file)), tmp_path)
    assert file.read_bytes() == b""


@pytest.mark.parametrize("options", [{}, {"overwrite": True}, {"overwrite": True, "ignoreIfExists": True}])
def test_creating_never_empties_a_file(tmp_path: Path, options: dict[str, bool]) -> None:
    file = tmp_path / "a.txt"
    file.write_text("precious\n")
    assert "exists already" in refused(tmp_path, create(file, **options), document(file, text_edit(0, 0, 0, "x")))


def test_ignore_if_exists_edits_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    perform(planned(tmp_path, create(file, ignoreIfExists=True), document(file, text_edit(0, 0, 3, "two"))), tmp_path)
    assert file.read_text() == "two\n"


def test_a_file_that_appeared_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    changes = planned(tmp_path, create(file), document(file, text_edit(0, 0, 0, "new\n")))
    file.write_text("theirs\n")
    with pytest.raises(WrongEdit, match="changed on disk"):
        perform(changes, tmp_path)
    assert file.read_text() == "theirs\n"


def test_a_file_changed_since_the_diff_was_shown_is_left(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    changes = planned(tmp_path, document(file, text_edit(0, 0, 3, "two")))
    file.write_text("mine\n")
    with pytest.raises(WrongEdit, match=r"a\.txt changed on disk since the diff was shown"):
        perform(changes, tmp_path)
    assert file.read_text() == "mine\n"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_all_files_or_none(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("one\n")
    second.write_text("one\n")
    new = tmp_path / "sub" / "new.txt"
    changes = planned(
        tmp_path,
        document(first, text_edit(0, 0, 3, "two")),
        create(new),
        document(second, text_edit(0, 0, 3, "two")),
    )
    second.write_text("mine\n")
    with pytest.raises(WrongEdit, match=r"b\.txt"):
        perform(changes, tmp_path)
    assert snapshot(tmp_path) == {"a.txt": b"one\n", "b.txt": b"mine\n"}


def test_what_was_written_is_put_back_when_a_later_file_fails(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("one\n")
    first.chmod(0o640)
    new = tmp_path / "new.txt"
    changes = planned(
        tmp_path,
        document(first, text_edit(0, 0, 3, "two")),
        create(new),
        document(new, text_edit(0, 0, 0, "hello\n")),
        create(second),
    )
    # The last file passes the staging, and is in the way only when its turn to be put comes.
    second.symlink_to(new)
    with pytest.raises(WrongEdit):
        perform((*changes[:2], Change(second.as_uri(), "b.txt", new, None, b"x")), tmp_path)
    second.unlink()
    assert snapshot(tmp_path) == {"a.txt": b"one\n"}
    assert stat.S_IMODE(first.stat().st_mode) == 0o640


def test_a_link_inside_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("one\n")
    link.symlink_to("real.txt")
    perform(planned(tmp_path, document(link, text_edit(0, 0, 3, "two"))), tmp_path)
    assert link.is_symlink()
    assert real.read_text() == "two\n"


def test_outside_the_folder_nothing_is_read_or_written(tmp_path: Path) -> None:
    root = tmp_path / "proj"
    root.mkdir()
    outside = tmp_path / "outside.txt"
    outside.write_text("one\n")
    (root / "link.txt").symlink_to(outside)
    (root / "folder").symlink_to(tmp_path)
    sister = tmp_path / "proj-evil"
    sister.mkdir()
    for path in (outside, root / "link.txt", root / "folder" / "outside.txt", root / ".." / "outside.txt"):
        assert "outside the folder" in refused(root, document(path, text_edit(0, 0, 3, "two")))
    for path in (sister / "new.txt", root / "folder" / "new.txt"):
        assert "outside the folder" in refused(root, create(path))
    assert outside.read_text() == "one\n"
    assert list(sister.iterdir()) == []


def test_a_folder_swapped_for_a_link_after_the_diff_is_noticed(tmp_path: Path) -> None:
    root, other = tmp_path / "proj", tmp_path / "other"
    (root / "src").mkdir(parents=True)
    other.mkdir()
    changes = planned(root, create(root / "src" / "a.txt"))
    (root / "src").rmdir()
    (root / "src").symlink_to(other)
    with pytest.raises(WrongEdit):
        perform(changes, root)
    assert list(other.iterdir()) == []


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ({"kind": "rename", "oldUri": "file:///x", "newUri": "file:///y"}, "cannot rename"),
        ({"textDocument": {"uri": "untitled:Untitled-1", "version": None}, "edits": []}, "no local file"),
        ({"textDocument": {"uri": "file://host/x", "version": None}, "edits": []}, "no local file"),
        ({"textDocument": {"uri": "file:///a%00b", "version": None}, "edits": []}, "NUL"),
        ({"whatever": 1}, "does not know"),
    ],
)
def test_what_this_client_did_not_declare_is_refused(tmp_path: Path, operation: object, words: str) -> None:
    assert words in refused(tmp_path, operation)


def test_a_version_of_a_document_that_is_not_open_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    assert "not open" in refused(tmp_path, document(file, text_edit(0, 0, 3, "two"), version=3))


def test_a_missing_file_is_only_made_by_a_create(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path, document(tmp_path / "a.txt", text_edit(0, 0, 0, "x")))


def test_what_is_no_utf8_or_no_file_is_refused(tmp_path: Path) -> None:
    latin = tmp_path / "latin.txt"
    latin.write_bytes(b"caf\xe9\n")
    assert "not UTF-8 (byte 3)" in refused(tmp_path, document(latin, text_edit(0, 0, 1, "C")))
    (tmp_path / "folder").mkdir()
    assert "not a regular file" in refused(tmp_path, create(tmp_path / "folder"))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert "not a regular file" in refused(tmp_path, document(tmp_path / "pipe", text_edit(0, 0, 0, "x")))


def test_a_read_only_file_is_left(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    file.chmod(0o444)
    assert "read-only" in refused(tmp_path, document(file, text_edit(0, 0, 3, "two")))


def test_lone_surrogates_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    assert "not valid Unicode" in refused(tmp_path, document(file, text_edit(0, 0, 0, "\ud800")))


def test_the_older_form_of_an_edit_is_understood(tmp_path: Path) -> None:
    file = tmp_path / "a b.txt"
    file.write_text("one\n")
    perform(plan({"changes": {file.as_uri(): [text_edit(0, 0, 3, "two")]}}, tmp_path, "utf-16"), tmp_path)
    assert file.read_text() == "two\n"


def test_the_diff_is_of_the_edit_itself(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\nthree\n")
    (change,) = planned(tmp_path, document(file, text_edit(1, 0, 0, "", end_line=2), text_edit(2, 5, 5, "!")))
    assert [f"{row.kind}{row.text}" for row in change.diff.rows] == [
        "@@@ -1,3 +1,2 @@",
        " one",
        "-two",
        "-three",
        "+three!",
    ]
    assert (change.diff.added, change.diff.removed) == (1, 2)
    assert file.read_text() == "one\ntwo\nthree\n"


def delete(path: Path) -> dict[str, object]:
    return {"kind": "delete", "uri": path.as_uri()}


def test_a_file_is_removed_and_leaves_nothing(tmp_path: Path) -> None:
    gone, kept = tmp_path / "gone.txt", tmp_path / "kept.txt"
    gone.write_text("one\n")
    kept.write_text("one\n")
    changes = planned(tmp_path, delete(gone), document(kept, text_edit(0, 0, 3, "two")))
    assert [row.text for row in changes[0].diff.rows][-1] == "one"
    perform(changes, tmp_path)
    assert snapshot(tmp_path) == {"kept.txt": b"two\n"}


def test_what_is_not_there_no_file_or_changed_meanwhile_is_not_removed(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    assert "does not exist" in refused(tmp_path, delete(file))
    (tmp_path / "folder").mkdir()
    assert "not a regular file" in refused(tmp_path, delete(tmp_path / "folder"))
    file.write_text("one\n")
    assert "removed by the same edit" in refused(tmp_path, delete(file), document(file, text_edit(0, 0, 0, "x")))
    changes = planned(tmp_path, delete(file))
    file.write_text("mine\n")
    with pytest.raises(WrongEdit):
        perform(changes, tmp_path)
    assert snapshot(tmp_path) == {"a.txt": b"mine\n", "folder": None}


def test_a_removed_file_is_back_where_another_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, other = tmp_path / "gone.txt", tmp_path / "other.txt"
    gone.write_text("one\n")
    gone.chmod(0o750)
    other.write_text("one\n")
    seen: list[bool] = []

    def full(_: Path) -> None:
        seen.append(gone.exists())
        if len(seen) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(apply, "_sync_folder", full)
    with pytest.raises(WrongEdit):
        perform(planned(tmp_path, delete(gone), document(other, text_edit(0, 0, 3, "two"))), tmp_path)
    assert seen == [False, False]
    assert snapshot(tmp_path) == {"gone.txt": b"one\n", "other.txt": b"one\n"}
    assert stat.S_IMODE(gone.stat().st_mode) == 0o750
