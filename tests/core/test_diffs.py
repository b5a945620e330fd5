"""Hunks make one text out of another and touch nothing else; a change is carried onto a moved text, or refused."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.core.diffs import Hunk, apply, counts, hunks, rebase, split_lines, unified

PIECES = [
    "a\n", "b\n", "c\r\n", "\n", "\r\n", "x = 1\n", "x = 2\n", "x = 1\r\n", "tail", "\r", "\f", "\u2028",
    "e", "\u0301", "\U0001f469", "\u200d", "\U0001f467", "\U0001f1e9", "\U0001f1ea", "\ud83d", "\udc00", "\u1100",
    "\u1161",
]  # fmt: skip
PARTS = ("\u0301", "\u0302", "\u200d", "\U0001f3fb", "\U0001f3ff", "\ude00", "\ude01")
texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=40)


def check(before: str, after: str, *expected: tuple[int, int, str]) -> None:
    found = hunks(before, after)
    assert found == tuple(Hunk(*hunk) for hunk in expected)
    assert apply(before, found) == after


def test_equal_texts_have_no_hunk() -> None:
    check("a\r\nb", "a\r\nb")


def test_a_hunk_is_trimmed_to_what_differs_in_its_lines() -> None:
    check("one\ntwo = 2\nthree\n", "one\ntwo = 22\nthree\n", (11, 11, "2"))


def test_hunks_far_apart_stay_apart() -> None:
    check("a\nb\nc\nd\n", "A\nb\nc\nD\n", (0, 1, "A"), (6, 7, "D"))


def test_lines_added_in_the_middle_touch_no_other_line() -> None:
    check("a\r\nb\r\n", "a\r\nnew\r\nb\r\n", (3, 3, "new\r\n"))


def test_a_new_text_and_a_deleted_one_are_one_hunk() -> None:
    check("", "a\nb", (0, 0, "a\nb"))
    check("a\nb", "", (0, 3, ""))


def test_a_final_line_end_can_come_and_go() -> None:
    check("a\nb", "a\nb\n", (3, 3, "\n"))
    check("a\nb\n", "a\nb", (3, 4, ""))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\r\nb", "a\nb"),
        ("a\nb", "a\r\nb"),
        ("e\u0301\n", "e\u0302\n"),
        ("e\n", "e\u0301\n"),
        ("\U0001f469\u200d\U0001f467\n", "\U0001f469\u200d\U0001f466\n"),
        ("\U0001f44d\U0001f3fb\n", "\U0001f44d\U0001f3ff\n"),
        ("\U0001f1e9\U0001f1ea\n", "\U0001f1e9\U0001f1f0\n"),
        ("\ud83d\ude00", "\ud83d\ude01"),
        ("\u1112\u1161\u11ab\n", "\u1112\u1161\u11ac\n"),
    ],
)
def test_no_line_end_and_no_visible_character_is_split(before: str, after: str) -> None:
    (hunk,) = hunks(before, after)
    for text, start, end in ((before, hunk.start, hunk.end), (after, hunk.start, hunk.start + len(hunk.text))):
        assert not any(text[at - 1 : at] == "\r" and text[at : at + 1] == "\n" for at in (start, end))
        assert text[start : start + 1] not in PARTS
    assert apply(before, (hunk,)) == after


def test_a_form_feed_and_other_separators_end_no_line() -> None:
    assert split_lines("a\fb\u2028c\x85d\re\n\r\nf") == ["a\fb\u2028c\x85d\re\n", "\r\n", "f"]


@given(texts, texts)
def test_hunks_applied_give_the_other_text(before: str, after: str) -> None:
    found = hunks(before, after)
    assert apply(before, found) == after
    assert all(one.end < other.start for one, other in pairwise(found))
    assert all(before[hunk.start : hunk.end] != hunk.text for hunk in found)


@given(texts, texts)
def test_counts_are_the_lines_of_the_unified_diff(before: str, after: str) -> None:
    shown = unified("f", before, after).split("\n")[2:]
    signs = [line[:1] for line in shown]
    if not {"\f", "\r"} & set(before + after):
        assert counts(before, after) == (signs.count("+"), signs.count("-"))


@pytest.mark.parametrize("kind", ["same lines", "shuffled", "one line", "reversed"])
def test_large_texts_are_compared_at_all(kind: str) -> None:
    numbers = [f"{n % 7}\n" if kind == "shuffled" else f"{n}\n" for n in range(60_000)]
    before = {"same lines": "x\n" * 60_000, "one line": "a" * 2_000_000}.get(kind, "".join(numbers))
    random.Random(1).shuffle(numbers)
    after = {
        "same lines": "x\n" * 60_010 + "y\n",
        "one line": "a" * 1_000_000 + "b" + "a" * 1_000_000,
        "reversed": "".join(reversed(split_lines(before))),
    }.get(kind, "".join(numbers))
    assert apply(before, hunks(before, after)) == after


# --- unified ---------------------------------------------------------------------------------------------------------


def test_a_unified_diff_has_context_and_ranges() -> None:
    before = "".join(f"{n}\n" for n in range(1, 21))
    after = before.replace("10\n", "ten\n").replace("12\n", "twelve\nmore\n")
    assert unified("src/a.py", before, after) == (
        "--- a/src/a.py\n+++ b/src/a.py\n@@ -7,9 +7,10 @@\n"
        " 7\n 8\n 9\n-10\n+ten\n 11\n-12\n+twelve\n+more\n 13\n 14\n 15\n"
    )


def test_a_new_file_comes_from_dev_null() -> None:
    assert unified("a", None, "x\n") == "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n"
    assert unified("__init__.py", None, "") == "--- /dev/null\n+++ b/__init__.py\n"


def test_a_missing_line_end_is_said() -> None:
    assert unified("a", "x", "x\n").endswith("-x\n\\ No newline at end of file\n+x\n")


def test_a_change_of_line_ends_alone_can_be_seen() -> None:
    assert unified("a", "x\r\ny\r\n", "x\ny\r\n").endswith("@@ -1,2 +1,2 @@\n-x␍\n+x\n y\n")


def test_nothing_to_show_is_an_empty_diff() -> None:
    assert unified("a", "x\n", "x\n") == ""


def test_a_name_cannot_add_lines_to_the_diff() -> None:
    assert "\n+++ b/evil\\n+x\n" in unified("evil\n+x", "a\n", "b\n")


# --- rebase ----------------------------------------------------------------------------------------------------------

BASE = "one\ntwo\nthree\nfour\nfive\n"


@pytest.mark.parametrize(
    ("proposal", "current", "expected"),
    [
        ("ONE\ntwo\nthree\nfour\nfive\n", BASE, "ONE\ntwo\nthree\nfour\nfive\n"),
        ("ONE\ntwo\nthree\nfour\nfive\n", "one\ntwo\nthree\nFOUR\nfive\n", "ONE\ntwo\nthree\nFOUR\nfive\n"),
        ("ONE\ntwo\nthree\nfour\nfive\n", "new\n\n" + BASE, None),
        ("one\ntwo\nTHREE\nfour\nfive\n", "new\n\n" + BASE, "new\n\none\ntwo\nTHREE\nfour\nfive\n"),
        ("one\ntwo\nTHREE\nfour\nfive\n", "one\ntwo\nTHREE\nfour\nfive\n", "one\ntwo\nTHREE\nfour\nfive\n"),
        ("one\ntwo\nTHREE\nfour\nfive\n", "one\ntwo\ndrei\nfour\nfive\n", None),
        ("one\ntwo\nTHREE\nfour\nfive\n", "one\ntwo\nfour\nfive\n", None),
        ("one\ntwo\nTHREE\nfour\nfive\n", "one\nTWO\nthree\nfour\nfive\n", "one\nTWO\nTHREE\nfour\nfive\n"),
        ("one\ntwo\n2.5\nthree\nfour\nfive\n", "one\ntwo\n2.6\nthree\nfour\nfive\n", None),
        ("one\ntwo\n2.5\nthree\nfour\nfive\n", "one\nTWO\nthree\nfour\nfive\n", None),
        ("one\ntwo\n2.5\nthree\nfour\nfive\n", "ONE\ntwo\nthree\nfour\nfive\n", "ONE\ntwo\n2.5\nthree\nfour\nfive\n"),
        ("one\ntwo\nthree\nfour\nfive\nsix\n", "one\ntwo\nthree\nfour\nfive", None),
        ("one\ntwo\nthree\nfour\nfive\nsix\n", "zero\n" + BASE, "zero\n" + BASE + "six\n"),
        ("", "one\ntwo\nthree\nfour\n", None),
    ],
)
def test_a_change_is_carried_over_or_refused(proposal: str, current: str, expected: str | None) -> None:
    assert rebase(BASE, proposal, current) == expected


@pytest.mark.parametrize(
    ("base", "proposal", "current"),
    [
        ("x\nx\nx\n", "y\nx\nx\n", "x\nx\n"),  # which of the equal lines went, nobody can say
        ("}\n}\n}\n", "}\nz\n}\n}\n", "}\n}\n}\n}\n"),
    ],
)
def test_among_equal_lines_nothing_is_guessed(base: str, proposal: str, current: str) -> None:
    assert rebase(base, proposal, current) is None


@given(st.data())
def test_changes_of_different_lines_are_both_kept_and_of_the_same_line_refused(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    base = [f"line {n}\n" for n in range(count)]
    mine, theirs = (data.draw(st.sets(st.integers(0, count - 1), min_size=1)) for _ in range(2))
    proposal = [f"mine {n}\n" if n in mine else line for n, line in enumerate(base)]
    current = [f"theirs {n}\n" if n in theirs else line for n, line in enumerate(base)]
    both = [current[n] if n in theirs else proposal[n] for n in range(count)]
    expected = None if mine & theirs else "".join(both)
    assert rebase("".join(base), "".join(proposal), "".join(current)) == expected


@given(texts, texts, texts)
def test_rebasing_never_fails(base: str, proposal: str, current: str) -> None:
    merged = rebase(base, proposal, current)
    if current == base:
        assert merged == proposal
