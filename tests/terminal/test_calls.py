"""What is shown of a tool call."""

import pytest

from llamagent_terminal.calls import Call, call_line


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
