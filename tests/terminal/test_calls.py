"""What is shown of a tool call."""

import pytest

from llamagent_terminal.calls import Call, call_line, result_lines


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"path": "a.py"}, "read_file a.py"),
        ({"path": "a.py", "start": 3}, "read_file a.py start=3"),
        ({"path": "a.py", "content": "x = 1"}, "read_file a.py content=x = 1"),
        ({"path": "a.py", "content": "x = 1\n"}, "read_file a.py content=(1 line)"),
        ({"path": "a.py", "content": "x = 1\ny = 2\n"}, "read_file a.py content=(2 lines)"),
        ({"path": "a.py", "content": "x = 1\ny = 2"}, "read_file a.py content=(2 lines)"),
    ],
)
def test_an_argument_of_several_lines_is_counted(arguments: dict[str, object], shown: str) -> None:
    assert "".join(str(part) for part in call_line(Call("read_file", arguments))) == shown


def test_a_command_is_shown_whole() -> None:
    assert call_line(Call("run_command", {"command": "echo " + "x" * 500})) == ("$ echo " + "x" * 500,)


@pytest.mark.parametrize(
    ("name", "content", "shown"),
    [
        ("read_file", "a.py (2 lines)\nx\ny\n", "2 lines, 0.1 s"),
        ("read_file", "a.py [open in the editor] (1 lines)\nx\n", "1 line, 0.1 s"),
        ("read_file", "a.py (lines 3-4 of 9)\nx\ny\n[5 more lines: read_file with start=5]", "lines 3-4 of 9, 0.1 s"),
        ("read_file", "a.py (lines 3-4 of many)\nx\ny\n", "lines 3-4 of many, 0.1 s"),
        ("list_files", "a.py (2 lines)\nb\nc\n", "3 lines, 0.1 s"),
        ("read_file", "a.py is empty.", "a.py is empty."),
    ],
)
def test_what_was_got_is_counted_as_it_says_itself(name: str, content: str, shown: str) -> None:
    event = {"ok": True, "content": content, "seconds": 0.1}
    assert [span.text for span in result_lines(Call(name, {}), event)] == [shown]
