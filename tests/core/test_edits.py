"""Edits: the shared cases, the manner of the file, and what an edit must never do."""

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.core.edits import Edited, EditProblem, ProblemKind, replace, rewrite
from llamagent_server.core.places import exact_places, tolerant_places


@pytest.mark.cases("edits.jsonl")
def test_an_edit_gives_what_the_case_says(case) -> None:  # type: ignore[no-untyped-def]
    result = replace(case["before"], case["old_text"], case["new_text"])
    if "error" in case["expect"]:
        assert isinstance(result, EditProblem), case["why"]
        assert result.kind == case["expect"]["error"], case["why"]
    else:
        assert isinstance(result, Edited), (result, case["why"])
        assert result.after == case["expect"]["after"], case["why"]
        assert result.exact == case["exact"], case["why"]
        assert bool(result.note) != result.exact


def after(before: str, old: str, new: str) -> str:
    result = replace(before, old, new)
    assert isinstance(result, Edited), result
    return result.after


def problem(before: str, old: str, new: str = "anything else") -> EditProblem:
    result = replace(before, old, new)
    assert isinstance(result, EditProblem), result
    return result


@pytest.mark.parametrize(
    ("old", "told"),
    [("count = 0", True), ("total_", True), ("sum", True), ("discount = 0", False), ("(x", False), ("= 0", False)],
)
def test_a_match_that_is_a_part_of_a_longer_word_is_said(old: str, told: bool) -> None:
    result = replace("discount = 0\ntotal_sum(x)\n", old, "new")
    assert isinstance(result, Edited)
    assert result.exact
    assert result.note == ("the old text is only a part of a longer word" if told else "")


@pytest.mark.parametrize(
    ("before", "old", "new", "expected"),
    [
        # The line ends of the neighbours, in mixed files too.
        ("a\r\nb\r\n", "a\nb\n", "a\nx\nb\n", "a\r\nx\r\nb\r\n"),
        ("a\nb\r\nc\n", "b", "b\nb2", "a\nb\r\nb2\r\nc\n"),
        ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
        ("a\r\nb\r\nc\r\n", "b\n", "", "a\r\nc\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "a\r\nB", "a\r\nB\r\n"),
        ("a\nb\n", "a\r\nb", "a\r\nB", "a\nB\n"),
        # A lone CR, a form feed, U+2028 are characters of their line.
        ("a\rb\n", "a\rb", "a\rc", "a\rc\n"),
        ("a\u2028b\nc\n", "c", "d", "a\u2028b\nd\n"),
        # The final line end stays.
        ("a\nb\n", "\nb\n", "", "a\n"),
        ("a\nb\n", "b\n", "c", "a\nc\n"),
        ("a\r\nb\r\n", "b\n", "c", "a\r\nc\r\n"),
        ("a\nb", "b", "c", "a\nc"),
        # Inside a line.
        ("x = f(1) + f(2)\n", "f(1)", "g(1)", "x = g(1) + f(2)\n"),
        ("\ufeffa\n", "\ufeffa", "b", "\ufeffb\n"),
        # Tolerance together.
        (
            "\tif x:\n\t\trun(\u2018a\u2019)  \n",
            "if x:\n    run('a')",
            "if x:\n    run('b')",
            "\tif x:\n\t\trun('b')\n",
        ),
        ("a\nb  \nc\n", "1: a\n2: b\n3: c", "1: a\n2: B\n3: c", "a\nB\nc\n"),
        ("  a\n  b\n", "1| a\n2| b", "1| a\n2| b\n3| c", "  a\n  b\n  c\n"),
        ("a\n", "\n1: a\n", "\n1: b\n", "b\n"),
        ("say(\u201chi\u201d, x)\nend\n", 'say("hi", ', 'say("ho", ', 'say("ho", x)\nend\n'),
        (
            "if a:\n  if b:\n    c()\n",
            "if a:\n\tif b:\n\t\tc()",
            "if a:\n\tif b:\n\t\td()",
            "if a:\n  if b:\n    d()\n",
        ),
        ("f():\n    a = 1\n", "f():  \n    a = 1\n\n", "f():  \n    a = 2\n\n", "f():\n    a = 2\n"),
    ],
)
def test_an_edit_keeps_the_manner_of_the_file(before: str, old: str, new: str, expected: str) -> None:
    assert after(before, old, new) == expected


@pytest.mark.parametrize(
    ("before", "old", "kind"),
    [
        ("a\na\n", "a", ProblemKind.AMBIGUOUS),
        ("aaa", "aa", ProblemKind.AMBIGUOUS),
        ("", "", ProblemKind.AMBIGUOUS),
        ("x = 1\n", "x = 2", ProblemKind.NOT_FOUND),
        ("x = 1\n", "X = 1", ProblemKind.NOT_FOUND),
        ("f(a,b)\n", "f(a, b)", ProblemKind.NOT_FOUND),
        ("a\n\nb\n", "a\nb", ProblemKind.NOT_FOUND),
        ("if a:\n    b\n  c\n", "if a:\n  b\n c", ProblemKind.NOT_FOUND),
        ("plain 'x'\n", "plain \u2018x\u2019", ProblemKind.NOT_FOUND),
        ("a \nb\na  \nb\n", "a\nb", ProblemKind.AMBIGUOUS),
        ("red\ngreen\n", "7: red", ProblemKind.NOT_FOUND),
        ("red\ngreen\n", "1: red\n3: green", ProblemKind.NOT_FOUND),
        ("", "x", ProblemKind.NOT_FOUND),
        ("a\n\n\nb\n", "   \n", ProblemKind.NOT_FOUND),
    ],
)
def test_where_one_place_is_not_clear_nothing_is_changed(before: str, old: str, kind: ProblemKind) -> None:
    assert problem(before, old).kind is kind


def test_numbers_that_belong_to_the_new_text_stay() -> None:
    before = "codes = {\n    200: 'ok',\n}\n"
    old = "1: codes = {\n2:     200: 'ok',\n3: }"
    plain = before.removesuffix("}\n") + "    404: 'no',\n}"
    assert after(before, old, plain) == f"{plain}\n"
    numbered = "1: codes = {\n2:     200: 'ok',\n3:     404: 'no',\n4: }"
    assert after(before, old, numbered) == f"{plain}\n"


def test_the_error_shows_the_nearest_lines_with_their_numbers() -> None:
    before = "import os\n\n\ndef label(user):\n    return user.full_name.title()\n\n\ndef other():\n    pass\n"
    message = problem(before, "def label(user):\n    return user.name.title()").message
    assert "4: def label(user):\n5:     return user.full_name.title()" in message
    assert "8: def other" not in message


def test_the_error_names_the_line_of_each_place() -> None:
    assert "lines 1, 3" in problem("a = 1\nb\na = 1\n", "a = 1").message


def test_the_error_is_short_however_long_the_file_is() -> None:
    assert len(problem("abc def\n" * 100_000, "abc dex " * 3).message) < 2_000
    assert len(problem("x" * 1_000_000, "y" * 5_000).message) < 2_000


@pytest.mark.parametrize(
    "line",
    [
        "# ... rest unchanged",
        "// ... existing code ...",
        "/* rest of the function */",
        "<!-- ... -->",
        "# (rest of the code remains the same)",
        "-- ... other columns ...",
        "    # rest of file unchanged",
        "# ...",
        "# \u2026",
        "{/* ... existing JSX ... */}",
        "# existing code here",
        "// the remaining methods stay the same",
    ],
)
def test_a_comment_that_stands_for_code_is_refused(line: str) -> None:
    assert problem("a\nb\nc\n", "a\nb", f"a\n{line}").kind is ProblemKind.PLACEHOLDER


@pytest.mark.parametrize(
    "line",
    [
        "# the order stays the same across versions",
        "# skip existing users...",
        "# rest of the arguments go to the command",
        "...",
        "x = [...]",
        'print("... rest unchanged")',
        "# TODO: other methods",
        "#!/bin/sh",
        "# wait for it ...",
    ],
)
def test_an_ordinary_line_is_no_placeholder(line: str) -> None:
    assert after("a\nb\n", "a\nb", f"a\n{line}") == f"a\n{line}\n"


@pytest.mark.parametrize(
    ("before", "content", "expected"),
    [
        ("a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\nb\nnew\nc\n", "a\r\nb\nnew\nc\r\n"),
        ("a\nb\n", "a\nc", "a\nc\n"),
        ("a\nb", "a\nc\n", "a\nc"),
        ("\ufeffa\n", "b\n", "\ufeffb\n"),
        ("", "a\n", "a\n"),
        ("", "a", "a"),
    ],
)
def test_a_rewritten_file_keeps_its_manner(before: str, content: str, expected: str) -> None:
    result = rewrite(before, content)
    assert isinstance(result, Edited)
    assert result.after == expected


def test_a_rewrite_that_changes_nothing_or_leaves_code_out_is_a_problem() -> None:
    same, short = rewrite("a\r\n", "a\n"), rewrite("a\nb\n", "# ... existing code ...\nb\n")
    assert isinstance(same, EditProblem)
    assert same.kind is ProblemKind.NO_CHANGE
    assert isinstance(short, EditProblem)
    assert short.kind is ProblemKind.PLACEHOLDER


lines = st.lists(
    st.sampled_from(
        ["a", "b = 'x'", "    c", "\tc", "", "  ", "1: a", "\u201cq\u201d", "e\u0301", "\f", "\U0001f680", "x\ry"]
    ),
    max_size=8,
)
ends = st.sampled_from(["\n", "\r\n"])


@st.composite
def files(draw: st.DrawFn) -> str:
    text = "".join(line + draw(ends) for line in draw(lines))
    return draw(st.sampled_from(["", "\ufeff"])) + (text if draw(st.booleans()) else text.rstrip("\r\n"))


@given(files(), lines, lines, st.booleans(), st.booleans())
def test_an_edit_changes_only_the_span_that_it_matched(
    before: str, old: list[str], new: list[str], old_ends: bool, new_ends: bool
) -> None:
    old_text, new_text = "\n".join(old) + "\n" * old_ends, "\n".join(new) + "\n" * new_ends
    result = replace(before, old_text, new_text)
    if isinstance(result, EditProblem):
        assert result.message
        return
    (place,) = exact_places(before, old_text, new_text) or tolerant_places(before, old_text, new_text)
    assert result.after.startswith(before[: place.start])
    assert result.after.rstrip("\r\n").endswith(before[place.end :].rstrip("\r\n"))
    assert not before.endswith("\n") or not result.after.removeprefix("\ufeff") or result.after.endswith("\n")


@pytest.mark.parametrize("theirs", ["NFC", "NFD"])
def test_accents_that_are_encoded_otherwise_are_found_and_the_file_keeps_its_own(
    theirs: Literal["NFC", "NFD"],
) -> None:
    ours: Literal["NFC", "NFD"] = "NFC" if theirs == "NFD" else "NFD"
    before = unicodedata.normalize(theirs, "# caf\u00e9\r\nnom = 'L\u00e9a'  # \u00e9t\u00e9\r\n\ud55c = 1\r\n")
    old, new = (unicodedata.normalize(ours, f"nom = '{name}'") for name in ("L\u00e9a", "Zo\u00eb"))
    result = replace(before, old, new)
    assert isinstance(result, Edited)
    assert result.after == before.replace(
        unicodedata.normalize(theirs, "L\u00e9a"), unicodedata.normalize(theirs, "Zo\u00eb")
    )
    assert (result.exact, "the encoding of accents" in (result.note or "")) == (False, True)
    two = unicodedata.normalize(ours, "# caf\u00e9\nnom")
    assert after(before, two, two.replace("nom", "name")) == before.replace("nom", "name")
    assert after(before, unicodedata.normalize(ours, "\ud55c = 1"), "x = 1").endswith("\r\nx = 1\r\n")
    twice = before + before
    assert isinstance(found := replace(twice, old, new), EditProblem) and found.kind is ProblemKind.AMBIGUOUS


def test_a_letter_without_its_accent_is_no_match_in_another_encoding() -> None:
    before = "\u00e9t e\u0301t\u00e9\n"  # the last word has both forms
    assert isinstance(replace(before, "te\u0301 \u00e9te", "x"), EditProblem)
    assert isinstance(replace("\u1112\u1161\u11ab\n", "\ud558", "x"), EditProblem)  # han is no ha
    assert isinstance(replace("l\u00e9a\n", "le\u0301a\u0301", "x"), EditProblem)


@given(st.text("ae\u00e9\u0301\u0300\u0323 \ud55c\u1112\u1161\n", max_size=12), st.integers(0, 11), st.integers(1, 6))
def test_what_is_found_in_another_encoding_means_the_same_and_nothing_else_changes(
    before: str, start: int, size: int
) -> None:
    for form in ("NFC", "NFD"):
        old = unicodedata.normalize(form, before[start : start + size])
        result = replace(before, old, "X")
        if isinstance(result, Edited) and len(found := tolerant_places(before, old, "X")) == 1:
            (place,) = found
            if place.notes == ("the encoding of accents",):
                span = before[place.start : place.end]
                assert unicodedata.normalize("NFD", span) == unicodedata.normalize("NFD", old)
                assert result.after.startswith(before[: place.start])


@given(st.text(max_size=60), st.text(max_size=20), st.text(max_size=20))
def test_no_text_makes_an_edit_fail(before: str, old: str, new: str) -> None:
    result = replace(before, old, new)
    if old and before.count(old) == 1 and "\r" not in before + old + new and isinstance(result, Edited):
        assert result.after.rstrip("\n") == before.replace(old, new).rstrip("\n")


@given(files(), files())
def test_a_rewrite_says_what_was_asked_for_but_for_line_ends(before: str, content: str) -> None:
    result = rewrite(before, content)
    if isinstance(result, Edited):
        assert _plain(result.after) == _plain(content)


def _plain(text: str) -> str:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    return text.rstrip("\n")


# --- What the model is told, so that its next try succeeds -----------------------------------------------------------

SHOP = """def total(rows):
    result = 0
    return sum(rows, result)


def mean(rows):
    result = 0
    return sum(rows, result) / len(rows)
"""


def told(text: str, old: str) -> str:
    problem = replace(text, old, "x")
    assert isinstance(problem, EditProblem)
    return problem.message


def test_two_places_are_shown_with_the_lines_that_tell_them_apart() -> None:
    assert told(SHOP, "result = 0") == (
        "old_text is found at 2 places (lines 2, 7). Begin both old_text and new_text further up, so that only one is"
        " meant (number: text):\n1: def total(rows):\n2:     result = 0\nor\n6: def mean(rows):\n7:     result = 0"
    )


def test_with_the_lines_that_were_shown_the_next_edit_finds_its_place() -> None:
    block = told(SHOP, "result = 0").split("meant (number: text):\n")[1].split("\nor\n")[1]
    edited = replace(SHOP, block, "def mean(rows):\n    result = 1")
    assert isinstance(edited, Edited)
    assert edited.after == "result = 1".join(SHOP.rsplit("result = 0", 1))


def test_as_many_lines_above_are_shown_as_it_takes() -> None:
    text = "a:\n  - run: x\n    name: y\nb:\n  - run: x\n    name: y\n"
    assert told(text, "name: y").endswith(
        "1: a:\n2:   - run: x\n3:     name: y\nor\n4: b:\n5:   - run: x\n6:     name: y"
    )


@pytest.mark.parametrize("text", ["a a\n", "same\n" * 40, "aa = 1\n" * 3 + "y = 2\n" + "aa = 1\n" * 3])
def test_what_a_few_lines_above_do_not_tell_apart_is_told_without(text: str) -> None:
    assert told(text, text.split()[0]).endswith("Add lines around it so that only one is meant.")


def test_many_places_are_counted_and_the_first_three_shown() -> None:
    message = told("".join(f"def f{n}():\n    pass\n" for n in range(20)), "    pass")
    assert message.startswith("old_text is found at 20 places (lines 2, 4, 6, 8, 10, 12, 14, 16, ...).")
    assert message.count("pass") == 3


def test_an_empty_old_text_is_told_how_to_add_to_the_end() -> None:
    assert told("a = 1\nb = 2\n\n", "").endswith("what is new after it:\nb = 2")
    assert "write_file" in told("\n", "")
