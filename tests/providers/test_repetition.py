"""Texts that say the same over and over are found, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.providers.repetition import LEAST_CHARS, Repetition, without_repetition


def period(text: str, size: int = 7) -> int:
    repetition = Repetition()
    for at in range(0, len(text), size):
        repetition.feed(text[at : at + size])
        if repetition.period:
            break
    return repetition.period


@pytest.mark.parametrize(
    "phrase",
    ["a", "\n", "ha ", "I will now read the file.\n", "Wait, let me check again. " * 3 + "Hmm.\n", "x" * 599 + "\n"],
)
@pytest.mark.parametrize("before", ["", "The answer is 42. "])
def test_the_same_phrase_again_and_again_is_found_and_its_first_kept(phrase: str, before: str) -> None:
    text = before + phrase * (10_000 // len(phrase) + 12)
    assert period(text) == len(phrase)
    kept = without_repetition(text, len(phrase))
    assert kept.strip() == (before + phrase).strip()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-" * 200,
        ("| --- " * 40 + "|\n") * 4,
        "\n".join(f"{number}. another line of the list" for number in range(400)),
        "\n".join(f"    assert f({n}) == {n * n}" for n in range(400)),
        "0, " * 500,
        "The quick brown fox jumps over the lazy dog. " * 30,
    ],
)
def test_lists_tables_and_rows_are_no_repetition(text: str) -> None:
    assert period(text) == 0


@given(st.text(max_size=300), st.integers(1, 400))
def test_what_is_short_is_never_a_repetition(text: str, size: int) -> None:
    assert len(text) > LEAST_CHARS or period(text, size) == 0


def test_a_long_text_is_looked_at_piece_by_piece_without_being_kept() -> None:
    repetition = Repetition()
    for number in range(20_000):
        repetition.feed(f"word {number} ")
    assert repetition.period == 0
    assert len(repetition._tail) < 10_000
