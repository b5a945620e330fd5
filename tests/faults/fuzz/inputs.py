"""The inputs of a target for hypothesis: words of its language, plain bytes, and its seeds with a few changes."""

from pathlib import Path

from hypothesis import strategies as st

from tests.faults.fuzz.languages import LANGUAGES

CORPUS = Path(__file__).parent.parent / "corpus"


def seeds(target: str) -> list[bytes]:
    """What was kept of earlier runs, and whatever once crashed."""
    folder = CORPUS / target
    return [path.read_bytes() for path in sorted(folder.iterdir())] if folder.exists() else []


def inputs(target: str) -> st.SearchStrategy[bytes]:
    count = len(LANGUAGES[target])
    head = st.binary(min_size=1, max_size=2)
    words = st.lists(st.integers(0, count - 1), max_size=60).map(bytes)
    made = st.tuples(head, words).map(b"".join) | st.binary(max_size=400)
    kept = seeds(target)
    return made | st.tuples(st.sampled_from(kept), words, st.integers(0, 200)).map(_changed) if kept else made


def _changed(given: tuple[bytes, bytes, int]) -> bytes:
    seed, words, at = given
    return seed[:at] + words + seed[at + len(words) // 2 :]
