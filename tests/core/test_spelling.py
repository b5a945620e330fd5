"""Names of tools as models spell them: one obvious reading is taken, and no other."""

import pytest

from llamagent_server.core.messages import ToolCall
from llamagent_server.core.spelling import canonical

DECLARED = {
    "read_file": frozenset({"path"}),
    "run_command": frozenset({"command"}),
    "search_text": frozenset({"pattern"}),
}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("ReadFile", "read_file"),
        ("readFile", "read_file"),
        ("read-file", "read_file"),
        ("READ_FILE", "read_file"),
        ("Read File", "read_file"),
        ("Bash", "run_command"),
        ("GREP", "search_text"),
        ("ReadLocalFile", "read_file"),
        ("read.file", "read.file"),
        ("read_files", "read_files"),
        ("", ""),
        ("__", "__"),
        ("WriteFile", "WriteFile"),
    ],
)
def test_case_and_what_joins_words_do_not_matter(written: str, meant: str) -> None:
    call = canonical(ToolCall("1", written, {"file": "a.py"}), DECLARED)
    assert call.name == meant
    assert call.arguments == {"path" if meant == "read_file" else "file": "a.py"}


def test_what_two_tools_could_mean_is_left_alone() -> None:
    declared = {"read_file": frozenset[str](), "readFile": frozenset[str]()}
    assert canonical(ToolCall("1", "Read-File", {}), declared).name == "Read-File"
    assert canonical(ToolCall("1", "readFile", {}), declared).name == "readFile"
