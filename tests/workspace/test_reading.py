"""What is read: the open document as it is on screen, else the disk, and which of them where they differ."""

import codecs
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.workspace import NewFile, PathProblem, ProblemKind, Snapshot, Source
from llamagent_server.workspace.decoding import NotText, Part, decode, read_part
from tests.workspace.projects import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


async def read(project: Project, path: str) -> Snapshot:
    found = await project.workspace.read(path)
    assert isinstance(found, Snapshot), found
    return found


async def problem(project: Project, path: str) -> PathProblem:
    found = await project.workspace.read(path)
    assert isinstance(found, PathProblem), found
    return found


# --- Buffers over the disk -------------------------------------------------------------------------------------------


async def test_an_unsaved_document_is_read_as_it_is_on_screen(project: Project) -> None:
    project.write("a.txt", "disk\r\n")
    project.open("a.txt", "disk\r\n")
    project.type("a.txt", "screen\r\n")
    found = await read(project, "a.txt")
    assert (found.text, found.source, found.version, found.conflict) == ("screen\r\n", Source.BUFFER, 2, None)
    assert found.uri == project.uri("a.txt")


async def test_a_byte_order_mark_in_a_document_is_not_shown(project: Project) -> None:
    project.open("a.txt", "\ufefftext")
    assert (await read(project, "a.txt")).text == "text"


async def test_a_document_that_is_not_on_disk_yet_is_read(project: Project) -> None:
    project.open("new.txt", "new")
    assert (await read(project, "new.txt")).text == "new"
    assert isinstance(await project.workspace.read_for_edit("new.txt"), Snapshot)


async def test_the_clients_spelling_of_the_uri_is_kept(project: Project) -> None:
    project.write("a b.txt", "x")
    spelled = project.uri("a b.txt").replace("a%20b", "%61%20b")
    project.screen.show(spelled, "screen")
    assert (await read(project, "a b.txt")).uri == spelled


async def test_a_document_opened_through_a_link_is_found(project: Project) -> None:
    project.write("real.txt", "disk")
    (project.root / "link.txt").symlink_to("real.txt")
    project.open("link.txt", "screen")
    for path in ("real.txt", "link.txt"):
        found = await read(project, path)
        assert (found.text, found.uri) == ("screen", project.uri("link.txt"))


async def test_a_clean_document_whose_file_is_newer_is_read_from_disk(project: Project) -> None:
    project.write("a.txt", "old")
    project.open("a.txt", "old")
    await read(project, "a.txt")
    project.write("a.txt", "written by a command")
    found = await read(project, "a.txt")
    assert (found.text, found.source, found.version) == ("written by a command", Source.DISK, None)


async def test_a_document_typed_in_whose_file_is_newer_is_a_conflict(project: Project) -> None:
    project.write("a.txt", "old")
    project.open("a.txt", "old")
    await read(project, "a.txt")
    project.type("a.txt", "typed")
    project.write("a.txt", "written by a command")
    found = await read(project, "a.txt")
    assert (found.text, found.source) == ("typed", Source.BUFFER)
    assert found.conflict


async def test_the_conflict_is_over_once_the_editor_reloaded_or_saved(project: Project) -> None:
    project.write("a.txt", "old")
    project.open("a.txt", "old")
    await read(project, "a.txt")
    project.type("a.txt", "typed")
    project.write("a.txt", "command")
    assert (await read(project, "a.txt")).conflict
    project.type("a.txt", "command")
    assert (await read(project, "a.txt")).conflict is None
    project.type("a.txt", "typed again")
    assert (await read(project, "a.txt")).conflict is None
    project.save("a.txt")
    found = await read(project, "a.txt")
    assert (found.text, found.conflict, found.source) == ("typed again", None, Source.BUFFER)


async def test_undoing_every_change_makes_a_document_clean_again(project: Project) -> None:
    project.write("a.txt", "old")
    project.open("a.txt", "old")
    await read(project, "a.txt")
    project.type("a.txt", "typed")
    project.type("a.txt", "old")
    project.write("a.txt", "command")
    assert (await read(project, "a.txt")).source is Source.DISK


async def test_a_document_opened_with_unsaved_changes_is_no_clean_one(project: Project) -> None:
    project.write("a.txt", "disk")
    project.open("a.txt", "restored from the last session")
    found = await read(project, "a.txt")
    assert (found.text, found.conflict) == ("restored from the last session", None)
    project.write("a.txt", "command")
    assert (await read(project, "a.txt")).conflict


async def test_a_save_that_a_formatter_changed_on_disk_is_read_from_disk(project: Project) -> None:
    project.write("a.txt", "old")
    project.open("a.txt", "old")
    project.type("a.txt", "saved")
    project.write("a.txt", "saved and formatted")
    project.workspace.saved(project.uri("a.txt"))
    assert (await read(project, "a.txt")).text == "saved and formatted"


async def test_line_ends_and_a_byte_order_mark_alone_make_no_difference(project: Project) -> None:
    project.write("a.txt", b"\xef\xbb\xbfa\r\nb\r\n")
    project.open("a.txt", "a\nb\n")
    await read(project, "a.txt")
    project.write("a.txt", b"\xef\xbb\xbfa\r\nb\r\n")
    found = await read(project, "a.txt")
    assert (found.text, found.source, found.conflict) == ("a\nb\n", Source.BUFFER, None)


async def test_a_deleted_file_that_is_still_open_is_said(project: Project) -> None:
    file = project.write("a.txt", "old")
    project.open("a.txt", "old")
    await read(project, "a.txt")
    file.unlink()
    found = await read(project, "a.txt")
    assert found.text == "old"
    assert "deleted" in found.note


async def test_a_closed_document_is_the_disk_again(project: Project) -> None:
    project.write("a.txt", "old")
    project.open("a.txt", "old")
    project.workspace.closed(project.uri("a.txt"))
    project.screen = type(project.screen)()
    project.workspace = type(project.workspace)(project.folders, project.screen)
    project.write("a.txt", "new")
    assert (await read(project, "a.txt")).text == "new"


async def test_a_file_of_another_encoding_is_the_editors_while_it_is_open(project: Project) -> None:
    project.write("a.txt", "caf\u00e9".encode("latin-1"))
    project.open("a.txt", "caf\u00e9")
    found = await read(project, "a.txt")
    assert (found.text, found.conflict) == ("caf\u00e9", None)
    project.write("a.txt", "caf\u00e9s!".encode("latin-1"))
    assert (await read(project, "a.txt")).conflict


async def test_other_views_of_the_editor_are_nothing_to_read(project: Project) -> None:
    project.screen.show("git:/a.txt?x", "x")
    project.screen.show("llamagent://prompt", "a prompt")
    assert (await problem(project, "git:/a.txt?x")).kind is ProblemKind.MISSING
    assert (await problem(project, "llamagent://prompt")).kind is ProblemKind.MISSING


async def test_an_untitled_document_is_named_by_its_uri(project: Project) -> None:
    project.screen.show("untitled:Untitled-1", "draft")
    found = await read(project, "untitled:Untitled-1")
    assert (found.text, found.uri, found.version) == ("draft", "untitled:Untitled-1", 1)
    listing = await project.workspace.list(".")
    assert not isinstance(listing, PathProblem)
    assert listing.files == ("untitled:Untitled-1",)


async def test_an_open_document_outside_the_workspace_is_not_read(project: Project) -> None:
    outside = project.parent / "secret.txt"
    outside.write_text("SECRET")
    project.screen.show(outside.as_uri(), "SECRET")
    for path in (str(outside), outside.as_uri(), "../secret.txt"):
        assert "SECRET" not in (await problem(project, path)).message


async def test_without_a_folder_only_open_documents_are_read(tmp_path: Path) -> None:
    project = Project(tmp_path, folders=[])
    (tmp_path / "closed.txt").write_text("SECRET")
    project.screen.show((project.parent / "open.txt").as_uri(), "open")
    project.screen.show("untitled:U", "draft")
    for path in ("open.txt", str(project.parent / "open.txt"), (project.parent / "open.txt").as_uri()):
        assert (await read(project, path)).text == "open"
    assert (await read(project, "untitled:U")).text == "draft"
    assert (await problem(project, "closed.txt")).kind is ProblemKind.REFUSED
    listing = await project.workspace.list(".")
    assert not isinstance(listing, PathProblem)
    assert listing.files == ("open.txt", "untitled:U")
    assert "No folder" in project.workspace.describe()


async def test_of_two_open_documents_with_one_name_none_is_guessed(tmp_path: Path) -> None:
    project = Project(tmp_path, folders=[])
    for folder in ("a", "b"):
        project.screen.show((project.parent / folder / "x.txt").as_uri(), folder)
    assert (await problem(project, "x.txt")).kind is ProblemKind.REFUSED
    assert (await read(project, (project.parent / "b/x.txt").as_posix())).text == "b"


# --- The disk --------------------------------------------------------------------------------------------------------


async def test_the_disks_line_ends_stay_and_its_byte_order_mark_does_not(project: Project) -> None:
    project.write("a.txt", b"\xef\xbb\xbfa\r\nb\rc\n")
    found = await read(project, "a.txt")
    assert (found.text, found.source) == ("a\r\nb\rc\n", Source.DISK)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("caf\u00e9\n".encode("latin-1"), "0xe9 in line 1"),
        (codecs.BOM_UTF16_LE + "text".encode("utf-16-le"), "UTF-16"),
        (codecs.BOM_UTF32_LE + "text".encode("utf-32-le"), "UTF-32"),
        (b"\x7fELF\x00\x01", "NUL"),
        (b"ok\n\xed\xa0\x80\n", "line 2"),
    ],
)
async def test_what_is_no_utf_8_is_refused_with_the_reason_and_the_size(
    project: Project, data: bytes, words: str
) -> None:
    project.write("a.txt", data)
    found = await problem(project, "a.txt")
    assert found.kind is ProblemKind.UNREADABLE
    assert words in found.message
    assert f"({len(data)} bytes)" in found.message


async def test_a_large_file_is_refused_with_its_size_unless_some_lines_are_asked_for(project: Project) -> None:
    project.write("a.txt", "".join(f"line {n}\n" for n in range(1, 300_001)))
    found = await problem(project, "a.txt")
    assert (found.kind, "3.5 MB" in found.message) == (ProblemKind.TOO_LARGE, True)
    part = await project.workspace.read_lines("a.txt", 200_000, 200_001)
    assert part == Part("line 200000\nline 200001\n", 200_000, more=True, lines=None)
    part = await project.workspace.read_lines("a.txt", 299_999, 400_000)
    assert part == Part("line 299999\nline 300000\n", 299_999, more=False, lines=300_000)


async def test_a_huge_hole_is_not_read(project: Project) -> None:
    with project.write("hole", "").open("wb") as file:
        file.truncate(4_000_000_000)
    assert "4.0 GB" in (await problem(project, "hole")).message
    assert isinstance(await project.workspace.read_lines("hole", 1, 5), PathProblem)


async def test_a_place_for_a_new_file_is_told_with_its_uri(project: Project) -> None:
    assert await project.workspace.read_for_edit("sub/new file.py") == NewFile(
        "sub/new file.py", f"{project.root.as_uri()}/sub/new%20file.py"
    )
    assert not (project.root / "sub").exists()


async def test_a_misplaced_name_is_found_elsewhere(project: Project) -> None:
    project.write("src/pkg/Main.py", "x")
    assert await project.workspace.alike("main.py") == ("src/pkg/Main.py",)


@given(st.binary(max_size=60))
def test_decoding_is_strict_and_never_fails(data: bytes) -> None:
    text = decode(data)
    if not isinstance(text, NotText):
        assert text.encode("utf-8") == data.removeprefix(codecs.BOM_UTF8)


@given(st.text(alphabet="ab\n\u00e9\U0001f680", max_size=80), st.integers(1, 12), st.integers(0, 5))
def test_a_part_is_those_lines(text: str, start: int, more: int) -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, text.encode())
    os.close(write_end)
    part = read_part(read_end, start, start + more, 1_000)
    os.close(read_end)
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    lines = lines if lines[-1] else lines[:-1]
    assert isinstance(part, Part)
    assert part.text == "".join(lines[start - 1 : start + more])
    assert part.lines in (None, len(lines))
    assert part.more == (len(lines) > start + more)
