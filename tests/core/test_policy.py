"""Which commands run without asking: the shared cases, and what no alphabet of plain words lets through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.core.policy import may_run


@pytest.mark.cases("commands.jsonl")
def test_a_command_runs_without_asking_only_where_the_case_says_so(case) -> None:  # type: ignore[no-untyped-def]
    assert ("run" if may_run(case["command"], case["allowed"]) else "ask") == case["expect"], case["why"]


@pytest.mark.parametrize(
    "command",
    [
        "git status; rm -rf .",
        "git status\trm",
        "git status\r\nrm x",
        "git status\x00",
        "git  status\u00a0x",
        "git status >x",
        "git status ~/x",
        "git status {a,b}",
        "git status #",
        "git status !x",
        "git status --outp=x",
        "GIT_PAGER=sh git status",
        "git -c core.pager=sh status",
        "",
        "   ",
    ],
)
def test_what_is_more_than_plain_words_asks(command: str) -> None:
    assert not may_run(command, ["git status", "git"])


@given(st.text(alphabet=st.characters(exclude_categories=["L", "N"], exclude_characters="_./:,@%+=- ")))
def test_no_character_outside_the_alphabet_ever_runs(text: str) -> None:
    assert not text or not may_run(f"ls {text}x", ["ls"])


@pytest.mark.parametrize("allowed", [[], [""], ["  "], ["git status --short"]])
def test_an_empty_or_longer_prefix_allows_nothing(allowed: list[str]) -> None:
    assert not may_run("git status", allowed)


@pytest.mark.parametrize(
    ("command", "prefix", "runs"),
    [
        ("find src -name x.py", "find", True),
        ("find src -exec rm x", "find", False),
        ("find src -fprint0 out", "find", False),
        ("go test -exec=sh ./...", "go test", False),
        ("go test -v ./...", "go test", True),
        ("make test SHELL=x", "make", False),
        ("make test", "make", True),
        ("rg --files src", "rg", True),
        ("rg --pre cat x", "rg", False),
        ("rg -o name src", "rg", True),
        ("grep -o name src", "grep", True),
        ("pytest --co -q", "pytest", True),
        ("pytest -pmine", "pytest", False),
        ("pytest -xp mine", "pytest", False),
        ("pytest --outputdir=x", "pytest", False),
        ("pytest --override=x", "pytest", False),
        ("tsc --outDir x", "tsc", False),
        ("node --require x app.js", "node", False),
        ("sort -ofile x", "sort", False),
        ("fd -x rm", "fd", False),
        ("git diff --no-ext-diff", "git diff", True),
        ("git log --oneline --graph -n 5", "git log", True),
        ("ls -la", "ls", True),
    ],
)
def test_options_that_write_or_execute_ask_and_harmless_ones_do_not(command: str, prefix: str, runs: bool) -> None:
    assert may_run(command, [prefix]) is runs
