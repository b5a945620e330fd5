"""Which paths an ignore file leaves out, pattern by pattern."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.workspace.ignore import Ignore, parse


def check(rules: str, path: str, *, ignored: bool) -> None:
    ignore = Ignore(lambda folder: rules if folder == () else None)
    parts = path.rstrip("/").split("/")
    assert ignore.ignored(parts, is_folder=path.endswith("/")) is ignored


@pytest.mark.parametrize(
    ("rules", "path", "ignored"),
    [
        ("*.log", "a.log", True),
        ("*.log", "sub/a.log", True),
        ("*.log", "a.log.txt", False),
        ("/a.log", "sub/a.log", False),
        ("/a.log", "a.log", True),
        ("build/", "build/", True),
        ("build/", "build/x/y.py", True),
        ("build/", "build", False),
        ("build/", "sub/build/x", True),
        ("doc/*.txt", "doc/a.txt", True),
        ("doc/*.txt", "doc/sub/a.txt", False),
        ("doc/*.txt", "sub/doc/a.txt", False),
        ("**/tmp", "a/b/tmp", True),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("a/**", "a/b", True),
        ("a/**", "a/", False),
        ("*.log\n!keep.log", "keep.log", False),
        ("!keep.log\n*.log", "keep.log", True),
        ("logs/\n!logs/keep.log", "logs/keep.log", True),
        ("# a", "# a", False),
        ("\\#a", "#a", True),
        ("\\!a", "!a", True),
        ("a ", "a", True),
        ("a\\ ", "a ", True),
        ("[ab].py", "a.py", True),
        ("[!ab].py", "a.py", False),
        ("[a-c].py", "b.py", True),
        ("[]].py", "].py", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("{a,b}.py", "b.py", True),
        ("[", "[", True),
        ("caf\u00e9", "caf\u00e9", True),
        ("", "a", False),
        ("\ufeff*.log", "a.log", True),
        ("a\r\nb\r\n", "a", True),
        ("", "node_modules/x.js", True),
        ("", "sub/.git/config", True),
        ("", ".gitignore", False),
        ("", ".github/workflows/ci.yml", False),
    ],
)
def test_a_path_is_left_out_or_not(rules: str, path: str, ignored: bool) -> None:
    check(rules, path, ignored=ignored)


def test_the_innermost_file_decides() -> None:
    files = {(): "*.log\n", ("keep",): "!*.log\n", ("keep", "not"): "a.log\n"}
    ignore = Ignore(files.get)
    assert ignore.ignored(["a.log"], is_folder=False)
    assert not ignore.ignored(["keep", "a.log"], is_folder=False)
    assert ignore.ignored(["keep", "not", "a.log"], is_folder=False)


@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=4))
def test_no_pattern_makes_it_fail(rules: str, parts: list[str]) -> None:
    parse(rules)
    Ignore(lambda _: rules).ignored([part.replace("/", "x") for part in parts], is_folder=False)
