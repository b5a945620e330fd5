"""The tools: what the model is told, what is proposed, and that nothing is written."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from llamagent_server.agent.context import Meter
from llamagent_server.agent.ports import ToolKind
from llamagent_server.processes.child import Ending
from llamagent_server.processes.commands import Ran, Shelter
from llamagent_server.workspace import searching
from llamagent_server.workspace.found import MAX_HITS_PER_FILE
from tests.tools.doubles import Bench
from tests.workspace.projects import Project, Scripted


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(Project(tmp_path))


def disk(bench: Bench) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in bench.project.root.rglob("*") if path.is_file()}


# --- All of them -----------------------------------------------------------------------------------------------------


def test_the_tools_are_those_of_the_contract(bench: Bench) -> None:
    arguments = {name: list(tool.spec.parameters["properties"]) for name, tool in bench.tools.items()}  # type: ignore[arg-type]
    assert arguments == {
        "list_files": ["path"],
        "read_file": ["path", "start", "end"],
        "search_text": ["pattern", "path"],
        "write_file": ["path", "content"],
        "edit_file": ["path", "old_text", "new_text"],
        "run_command": ["command"],
        "load_skill": ["name"],
    }
    kinds = {name: tool.kind for name, tool in bench.tools.items() if tool.kind is not ToolKind.READ}
    assert kinds == {"write_file": ToolKind.EDIT, "edit_file": ToolKind.EDIT, "run_command": ToolKind.COMMAND}


def test_all_specifications_together_are_short(bench: Bench) -> None:
    specs = [
        {"type": "function", "function": {"name": s.name, "description": s.description, "parameters": s.parameters}}
        for s in (tool.spec for tool in bench.tools.values())
    ]
    assert len(json.dumps(specs, separators=(",", ":"))) / 4 < 450


@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file", "list_files", "search_text"])
@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "~/x", "a\0b", "out/secret.txt", "\ud800"])
async def test_no_tool_leaves_the_workspace(bench: Bench, name: str, path: str) -> None:
    (bench.project.parent / "secret.txt").write_text("SECRET x")
    (bench.project.root / "out").symlink_to("..")
    others = {"content": "x\n", "old_text": "x", "new_text": "y", "pattern": "x"}
    known = bench.tools[name].spec.parameters["properties"]
    assert isinstance(known, dict)
    result = await bench.result(name, path=path, **{key: value for key, value in others.items() if key in known})
    assert not result.ok
    assert "SECRET" not in result.content


# --- read_file -------------------------------------------------------------------------------------------------------


async def test_a_file_is_read_whole_with_lf_and_without_a_byte_order_mark(bench: Bench) -> None:
    bench.project.write("a.txt", b"\xef\xbb\xbfone\r\ntwo\r\n")
    result = await bench.result("read_file", path="a.txt")
    assert (result.ok, result.content, result.truncated) == (True, "a.txt (2 lines)\none\ntwo\n", False)


async def test_lines_are_read_and_what_is_left_is_said(bench: Bench) -> None:
    bench.project.write("a.txt", "".join(f"{n}\n" for n in range(1, 11)))
    result = await bench.result("read_file", path="a.txt", start=3, end=4)
    assert result.content == "a.txt (lines 3-4 of 10)\n3\n4\n[6 more lines: read_file with start=5]"
    assert not result.truncated
    result = await bench.result("read_file", path="a.txt", start=9, end=99)
    assert result.content == "a.txt (lines 9-10 of 10)\n9\n10\n"
    for start, end in ((11, None), (5, 4)):
        assert not (await bench.result("read_file", path="a.txt", start=start, end=end)).ok
    assert (await bench.result("read_file", path="a.txt", start=-5, end=1)).content.startswith("a.txt (lines 1-1")


async def test_a_long_file_is_cut_at_a_line_and_the_parts_join(bench: Bench) -> None:
    text = "".join(f"line {n} of the file\n" for n in range(1, 501))
    bench.project.write("a.txt", text)
    parts, start = [], 1
    for _ in range(100):
        result = await bench.result("read_file", 2_000, path="a.txt", start=start)
        assert len(result.content) <= 2_000
        lines = result.content.split("\n")
        parts += [line for line in lines[1:] if line.startswith("line ")]
        if not result.truncated:
            break
        start = int(lines[-1].rpartition("start=")[2].rstrip("]"))
    assert "\n".join(parts) + "\n" == text


async def test_one_endless_line_is_cut(bench: Bench) -> None:
    bench.project.write("a.js", "x" * 50_000)
    result = await bench.result("read_file", 1_000, path="a.js")
    assert (result.ok, result.truncated, len(result.content) < 1_100) == (True, True, True)
    assert "50,000 characters" in result.content


async def test_what_is_on_screen_is_read(bench: Bench) -> None:
    bench.project.write("a.txt", "disk\n")
    bench.project.open("a.txt", "disk\n")
    bench.project.type("a.txt", "screen\n")
    assert "screen" in (await bench.result("read_file", path="a.txt")).content


@pytest.mark.parametrize(("text", "words"), [("", "is empty"), (b"\0", "(1 bytes)")])
async def test_what_cannot_be_shown_is_said_with_its_size(bench: Bench, text: str | bytes, words: str) -> None:
    bench.project.write("a", text)
    assert words in (await bench.result("read_file", path="a")).content


async def test_a_huge_file_is_read_by_lines(bench: Bench) -> None:
    bench.project.write("a", "".join(f"line {n}\n" for n in range(1, 400_001)))
    first = await bench.result("read_file", 600, path="a")
    shown = first.content.splitlines()
    assert (first.ok, first.truncated, shown[1]) == (True, True, "line 1")
    assert shown[0] == f"a (lines 1-{len(shown) - 2} of many)"
    assert shown[-1] == f"[more lines: read_file with start={len(shown) - 1}]"
    result = await bench.result("read_file", path="a", start=300_000, end=300_001)
    assert result.content.startswith("a (lines 300000-300001 of many)\nline 300000\nline 300001\n[more lines")
    result = await bench.result("read_file", path="a", start=400_000)
    assert result.content == "a (lines 400000-400000 of 400000)\nline 400000\n"
    assert not (await bench.result("read_file", path="a", start=400_001)).ok


async def test_a_wrong_folder_is_told_the_right_one(bench: Bench) -> None:
    bench.project.write("src/app/main.py", "x")
    result = await bench.result("read_file", path="app/main.py")
    assert not result.ok
    assert "src/app/main.py" in result.content


# --- list_files, search_text -----------------------------------------------------------------------------------------


async def test_files_are_listed_or_counted_where_there_are_too_many(bench: Bench) -> None:
    for folder in ("big", "small"):
        for number in range(200 if folder == "big" else 2):
            bench.project.write(f"{folder}/file{number:03}.txt", "x")
    bench.project.write("top.txt", "x")
    result = await bench.result("list_files", 600)
    lines = result.content.split("\n")
    assert lines[:4] == ["big/ (200 files)", "small/file000.txt", "small/file001.txt", "top.txt"]
    assert result.truncated
    assert len((await bench.result("list_files", 50_000)).content.split("\n")) == 203
    result = await bench.result("list_files", 600, path="big")
    assert "more]" in result.content
    assert len(result.content) < 700


async def test_an_empty_folder_is_said(bench: Bench) -> None:
    assert "no files" in (await bench.result("list_files")).content


async def test_hits_are_grouped_by_file_and_the_rest_is_counted(bench: Bench) -> None:
    bench.project.write("a.py", "x = 1\ny = 2\nx = 3\n")
    bench.project.write("b.py", "x\n" * (MAX_HITS_PER_FILE + 1))
    result = await bench.result("search_text", pattern="x")
    assert result.content.startswith("a.py:\n1: x = 1\n3: x = 3\nb.py:\n1: x\n")
    assert f"first {MAX_HITS_PER_FILE} of a file: b.py" in result.content
    result = await bench.result("search_text", 300, pattern="x")
    assert result.truncated
    assert "more lines in 1 files" in result.content
    assert len(result.content) < 500


@pytest.mark.parametrize("pattern", ["", "a\nb", "a\0b", "\ud800"])
async def test_a_pattern_for_no_line_is_refused(bench: Bench, pattern: str) -> None:
    assert not (await bench.result("search_text", pattern=pattern)).ok


async def test_no_hit_is_an_answer(bench: Bench) -> None:
    result = await bench.result("search_text", pattern="nothing")
    assert (result.ok, result.content) == (True, "No line matches 'nothing'.")


async def test_a_search_that_took_too_long_says_so_also_where_it_found_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "MAX_SECONDS", 0.3)
    bench.project.searched_by(Scripted("import time; time.sleep(600)"))
    result = await bench.result("search_text", pattern="x")
    assert result.content.split("\n")[1] == "[The search was stopped, it took too long; there may be more.]"
    assert result.truncated


async def test_a_look_in_another_case_is_within_the_time_of_the_same_search(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []
    in_time = searching.in_time
    monkeypatch.setattr(searching, "in_time", lambda cancel: begun.append(cancel) or in_time(cancel))
    bench.project.write("a.txt", "orderlist\n")
    assert "in another case" in (await bench.result("search_text", pattern="OrderList")).content
    assert len(begun) == 1


# --- write_file, edit_file -------------------------------------------------------------------------------------------


async def test_a_new_file_is_proposed_and_not_written(bench: Bench) -> None:
    proposal = await bench.proposal("write_file", path="src/new.py", content="x = 1\n")
    (change,) = proposal.changes
    assert (change.path, change.uri) == ("src/new.py", bench.project.uri("src/new.py"))
    assert (change.before, change.after, change.version) == (None, "x = 1\n", None)
    assert proposal.summary == "create src/new.py"
    assert disk(bench) == {}


async def test_an_existing_file_is_rewritten_in_its_manner(bench: Bench) -> None:
    bench.project.write("a.py", "a\r\nb\r\n")
    (change,) = (await bench.proposal("write_file", path="a.py", content="a\nc")).changes
    assert (change.before, change.after) == ("a\r\nb\r\n", "a\r\nc\r\n")


async def test_an_edit_is_computed_against_the_screen(bench: Bench) -> None:
    bench.project.write("a.py", "disk = 1\n")
    bench.project.open("a.py", "disk = 1\n")
    bench.project.type("a.py", "unsaved = 0\r\ndisk = 1\r\n")
    (change,) = (await bench.proposal("edit_file", path="a.py", old_text="disk = 1", new_text="disk = 2")).changes
    assert change.before == "unsaved = 0\r\ndisk = 1\r\n"
    assert (change.after, change.version) == ("unsaved = 0\r\ndisk = 2\r\n", 2)


async def test_a_match_that_needed_tolerance_is_labelled(bench: Bench) -> None:
    bench.project.write("a.py", "x = 1  \ny\n")
    (change,) = (await bench.proposal("edit_file", path="a.py", old_text="x = 1\ny", new_text="x = 2\ny")).changes
    assert "white space at line ends" in change.note


async def test_an_empty_old_text_creates_a_file_only_where_none_is(bench: Bench) -> None:
    (change,) = (await bench.proposal("edit_file", path="new.py", old_text="", new_text="x\n")).changes
    assert (change.before, change.after) == (None, "x\n")
    bench.project.write("new.py", "y\n")
    assert not (await bench.result("edit_file", path="new.py", old_text="", new_text="x\n")).ok


@pytest.mark.parametrize("name", ["__init__.py", "pkg/py.typed", ".gitkeep"])
async def test_a_file_that_is_empty_by_custom_may_be(bench: Bench, name: str) -> None:
    (change,) = (await bench.proposal("write_file", path=name, content="")).changes
    assert change.after == ""


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("write_file", {"path": "a.py", "content": ""}, "empty"),
        ("write_file", {"path": "new.py", "content": " \n"}, "empty"),
        ("write_file", {"path": "a.py", "content": "x = 1\n"}, "nothing would change"),
        ("write_file", {"path": "a.py", "content": "# ... existing code ...\ny\n"}, "leaves code out"),
        ("write_file", {"path": "new.py", "content": "x\n# ... rest of the code\n"}, "leaves code out"),
        ("write_file", {"path": "dir", "content": "x"}, "is a folder"),
        ("write_file", {"path": ".git/hooks/pre-commit", "content": "x"}, "never written"),
        ("write_file", {"path": "a.py", "content": "a\0"}, "NUL"),
        ("edit_file", {"path": "a.py", "old_text": "x", "new_text": "\ud83d"}, "half of a character"),
        ("write_file", {"path": "latin.txt", "content": "x"}, "UTF-8"),
        ("edit_file", {"path": "a.py", "old_text": "y = 1", "new_text": "z"}, "1: x = 1"),
        ("edit_file", {"path": "a.py", "old_text": "x = 1", "new_text": "x = 1"}, "nothing would change"),
        ("edit_file", {"path": "none.py", "old_text": "x", "new_text": "y"}, "no such file"),
    ],
)
async def test_what_would_go_wrong_is_refused_with_the_reason(
    bench: Bench, name: str, arguments: dict[str, str], words: str
) -> None:
    bench.project.write("a.py", "x = 1\n")
    bench.project.write("dir/x", "x")
    bench.project.write("latin.txt", b"\xe9")
    before = disk(bench)
    result = await bench.result(name, **arguments)
    assert not result.ok
    assert words in result.content
    assert disk(bench) == before


@pytest.mark.parametrize("name", ["write_file", "edit_file"])
async def test_a_conflict_is_said_and_not_written(bench: Bench, name: str) -> None:
    bench.project.write("a.py", "old\n")
    bench.project.open("a.py", "old\n")
    await bench.result("read_file", path="a.py")
    bench.project.type("a.py", "typed\n")
    bench.project.write("a.py", "written by a command\n")
    arguments = {"content": "x\n"} if name == "write_file" else {"old_text": "typed", "new_text": "x"}
    result = await bench.result(name, path="a.py", **arguments)
    assert not result.ok
    assert "changed on disk" in result.content


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("path", ["a.py", "./a.py"])
async def test_an_edit_goes_on_from_those_before_it_in_the_same_reply(bench: Bench, path: str, *, opened: bool) -> None:
    bench.project.write("a.py", "x = 1\r\ny = 1\r\n")
    if opened:
        bench.project.open("a.py", "x = 1\r\ny = 1\r\n")
    bench.pending = (await bench.proposal("edit_file", path="a.py", old_text="x = 1", new_text="x = 2")).changes
    (change,) = (await bench.proposal("edit_file", path=path, old_text="x = 2", new_text="x = 3")).changes
    assert (change.before, change.after) == ("x = 2\r\ny = 1\r\n", "x = 3\r\ny = 1\r\n")
    assert change.uri == bench.pending[0].uri
    again = await bench.result("edit_file", path="a.py", old_text="x = 1", new_text="x = 9")
    assert "1: x = 2" in again.content
    (whole,) = (await bench.proposal("write_file", path="a.py", content="x = 2\ny = 7\n")).changes
    assert (whole.before, whole.after) == ("x = 2\r\ny = 1\r\n", "x = 2\r\ny = 7\r\n")


async def test_a_file_that_is_only_proposed_is_edited_and_rewritten(bench: Bench) -> None:
    bench.pending = (await bench.proposal("write_file", path="new.py", content="x = 1\n")).changes
    (change,) = (await bench.proposal("edit_file", path="new.py", old_text="x = 1", new_text="x = 2")).changes
    assert (change.before, change.after) == ("x = 1\n", "x = 2\n")
    (change,) = (await bench.proposal("write_file", path="new.py", content="y = 1\n")).changes
    assert (change.before, change.after) == ("x = 1\n", "y = 1\n")
    assert not (bench.project.root / "new.py").exists()


async def test_a_rewrite_that_drops_much_is_labelled(bench: Bench) -> None:
    bench.project.write("a.py", "".join(f"line {n}\n" for n in range(100)))
    (change,) = (await bench.proposal("write_file", path="a.py", content="line 1\n")).changes
    assert "drops 99 lines" in change.note


async def test_a_name_in_another_case_is_found_and_it_is_said(bench: Bench) -> None:
    bench.project.write("shop.py", "class OrderList:\n    pass\n")
    result = await bench.result("search_text", pattern="Orderlist")
    assert result.content == (
        "[No line matches 'Orderlist' as it is; in another case these do:]\nshop.py:\n1: class OrderList:"
    )
    assert (await bench.result("search_text", pattern="nothing")).content == "No line matches 'nothing'."
    assert (await bench.result("search_text", pattern="OrderList")).content == "shop.py:\n1: class OrderList:"


async def test_who_edits_a_file_that_is_not_there_hears_what_makes_one(bench: Bench) -> None:
    result = await bench.result("edit_file", path="new.py", old_text="x", new_text="y")
    assert not result.ok
    assert result.content.endswith("write_file makes a new file.")


# --- run_command, load_skill -----------------------------------------------------------------------------------------


def ran(output: str, ending: Ending, *, timed_out: bool = False) -> Ran:
    return Ran(ending, output, timed_out=timed_out, seconds_allowed=30)


@pytest.mark.parametrize(
    ("how", "ok", "content"),
    [
        (ran("fine\n", Ending(code=0)), True, "exit code 0\nfine"),
        (ran("", Ending(code=0)), True, "exit code 0\n(no output)"),
        (ran("bad\n", Ending(code=2)), False, "exit code 2\nbad"),
        (ran("", Ending(signal=9)), False, "Killed by signal 9 (SIGKILL)\n(no output)"),
        (ran("", Ending(error="No such file")), False, "It could not run: No such file\n(no output)"),
    ],
)
async def test_how_a_command_ended_comes_first(bench: Bench, how: Ran, ok: bool, content: str) -> None:
    bench.runner.ran = how
    result = await bench.result("run_command", command="make")
    assert (result.ok, result.content) == (ok, content)
    assert bench.runner.asked == [("make", bench.project.root, False)]


async def test_the_time_limit_and_what_was_left_are_told(bench: Bench) -> None:
    bench.runner.ran = ran("begun", Ending(left=2), timed_out=True)
    result = await bench.result("run_command", command="serve")
    assert not result.ok
    assert "30 s" in result.content
    assert "begun" in result.content
    assert "2 processes" in result.content


@pytest.mark.parametrize(
    ("output", "code", "shelter", "said", "wants"),
    [
        ("", 0, Shelter.SANDBOX, "It ran in a sandbox without network", False),
        ("", 0, Shelter.SANDBOX_WITH_NETWORK, "It ran in a sandbox with network", False),
        ("", 0, Shelter.NONE, "It ran without a sandbox", False),
        ("curl: (6) Could not resolve host: x\n", 6, Shelter.SANDBOX, "the user is asked for it", True),
        ("Could not resolve host\n", 0, Shelter.SANDBOX, "without network]", False),
        ("Could not resolve host\n", 6, Shelter.NONE, "It ran without a sandbox", False),
        ("touch: 'x': Read-only file system\n", 1, Shelter.SANDBOX, "Only the project", False),
        ("", 139, Shelter.SANDBOX, "exit code 139 (killed by SIGSEGV)", False),
    ],
)
async def test_the_result_says_in_one_line_what_shelter_there_was_and_what_it_kept_away(
    bench: Bench, output: str, code: int, shelter: Shelter, said: str, wants: bool
) -> None:
    bench.runner.ran = replace(ran(output, Ending(code=code)), shelter=shelter)
    result = await bench.result("run_command", command="x")
    assert said in result.content
    assert len([line for line in result.content.splitlines() if line.startswith("[")]) == 1
    assert result.wants_network is wants


STEPS = "".join(f"step {n}\n" for n in range(1_000))


async def test_a_result_of_digits_is_shorter_than_one_of_words_for_it_takes_more_of_the_context(bench: Bench) -> None:
    """Each takes what its tokens would: a file, lines that were found, what a command wrote."""
    bench.project.write("digits.csv", "1234,5678,9012\n" * 2_000)
    bench.project.write("words.txt", "some words here\n" * 2_000)
    bench.chars = Meter().chars
    bench.runner.ran = ran("1234,5678,9012\n" * 2_000, Ending(code=0))
    calls = [("read_file", "path", "digits.csv"), ("search_text", "pattern", "5678"), ("run_command", "command", "x")]
    for tool, argument, value in calls:
        result = await bench.result(tool, 7_000, **{argument: value})
        assert result.truncated
        assert 1_000 < Meter().text(result.content) <= 2_200  # 7000 characters of words are 2000 tokens
    words = await bench.result("read_file", 7_000, path="words.txt")
    assert len(words.content) > 6_000


async def test_of_a_failed_command_the_error_comes_first_and_then_the_end(bench: Bench) -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nValueError: the reason\n'
    bench.runner.ran = ran(STEPS + trace + "cleaning up\n", Ending(code=1))
    result = await bench.result("run_command", 1_000, command="make")
    assert result.truncated
    assert len(result.content) <= 1_000
    error = '  File "a.py", line 3, in f\n    g()\nValueError: the reason'
    assert result.content.startswith(f"exit code 1\nThe error:\n{error}\nThe end of what it wrote:\n")
    assert result.content.endswith("step 999\nTraceback (most recent call last):\n[the error above]\ncleaning up")
    assert result.content.count("the reason") == 1


async def test_an_error_that_is_the_last_line_is_not_said_twice(bench: Bench) -> None:
    bench.runner.ran = ran(STEPS + "Error: the reason\n", Ending(code=1))
    result = await bench.result("run_command", 800, command="make")
    assert result.content.startswith("exit code 1\nThe error:\nError: the reason\nThe end of what it wrote:\n[... ")
    assert result.content.endswith("step 998\nstep 999")


async def test_an_error_without_end_is_bounded(bench: Bench) -> None:
    bench.runner.ran = ran(STEPS + f"Error: {'x' * 50_000}\n{STEPS}", Ending(code=1))
    result = await bench.result("run_command", 1_500, command="make")
    assert len(result.content) <= 1_500
    assert "x…\nThe end of what it wrote:" in result.content
    assert result.content.endswith("step 999")


async def test_where_no_error_is_found_the_end_is_kept_as_it_is(bench: Bench) -> None:
    bench.runner.ran = ran(STEPS + "that is all\n", Ending(code=1))
    result = await bench.result("run_command", 800, command="make")
    assert result.truncated
    assert len(result.content) <= 800
    assert result.content.startswith("exit code 1\nstep 0\n")
    assert result.content.endswith("that is all")


async def test_what_is_seen_at_a_glance_and_what_went_well_stays_as_it_was(bench: Bench) -> None:
    short = "checking\nError: the reason\ndone\n"
    bench.runner.ran = ran(short, Ending(code=1))
    assert (await bench.result("run_command", command="make")).content == f"exit code 1\n{short.strip()}"
    bench.runner.ran = ran(f"Error: none\n{STEPS}", Ending(code=0))
    assert (await bench.result("run_command", command="make")).content.startswith("exit code 0\nError: none\nstep 0\n")


@pytest.mark.parametrize("command", ["", "  \n", "echo \0", "echo \udce9"])
async def test_no_command_is_not_run(bench: Bench, command: str) -> None:
    assert not (await bench.result("run_command", command=command)).ok
    assert bench.runner.asked == []


async def test_without_a_folder_no_command_runs(tmp_path: Path) -> None:
    bench = Bench(Project(tmp_path, folders=[]))
    assert not (await bench.result("run_command", command="ls")).ok
    assert bench.runner.asked == []


async def test_a_skill_is_loaded_or_those_that_there_are_named(bench: Bench) -> None:
    result = await bench.result("load_skill", name="tests")
    assert result.content.startswith("How to write tests.\n")
    result = await bench.result("load_skill", name="nope")
    assert (result.ok, result.content) == (False, "There is no skill 'nope'. The skills are: tests.")
