"""Differences between two texts: minimal hunks, unified diffs for people, and changes carried onto a moved text.

A line ends at "\\n" or "\\r\\n" and nowhere else: form feeds, U+2028 and a lone CR are ordinary characters here.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# difflib is quadratic and worse on repeated lines: beyond this many pairs in one diff, a block is replaced as a whole.
_PAIRS = 1_000_000
_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Hunk:
    """`text` takes the place of `before[start:end]`; offsets are code points."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines `old_from:old_to` of the old text become lines `new_from:new_to` of the new one."""

    old_from: int
    old_to: int
    new_from: int
    new_to: int

    @property
    def resizes(self) -> bool:
        return self.old_to - self.old_from != self.new_to - self.new_from


def split_lines(text: str) -> list[str]:
    """The lines of `text` with their ends; joined they give `text` again."""
    return _LINE.findall(text)


def hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """The changes that make `after` out of `before`, sorted, apart from one another, each trimmed to what differs."""
    old, new = split_lines(before), split_lines(after)
    starts = _offsets(old)
    return tuple(
        _trimmed(before, starts[block.old_from], starts[block.old_to], "".join(new[block.new_from : block.new_to]))
        for block in _blocks(old, new)
    )


def apply(before: str, changes: Sequence[Hunk]) -> str:
    """`before` with sorted, non-overlapping `changes` made."""
    parts, position = [], 0
    for hunk in changes:
        parts += [before[position : hunk.start], hunk.text]
        position = hunk.end
    return "".join([*parts, before[position:]])


def counts(before: str | None, after: str) -> tuple[int, int]:
    """How many lines are added and removed; `before` None is a file that does not exist yet."""
    blocks = _blocks(split_lines(before or ""), split_lines(after))
    return sum(b.new_to - b.new_from for b in blocks), sum(b.old_to - b.old_from for b in blocks)


# --- Finding what differs ------------------------------------------------------------------------------------------


def matching(old: list[str], new: list[str]) -> tuple[tuple[int, int], ...]:
    """Pairs of indices of equal lines, rising in both."""
    return tuple(_matches(old, new, _Block(0, len(old), 0, len(new)), [_PAIRS]))


def _blocks(old: list[str], new: list[str]) -> list[_Block]:
    """The line blocks that differ. Between two of them at least one line is equal."""
    matches = [*matching(old, new), (len(old), len(new))]
    blocks, i, j = [], 0, 0
    for old_at, new_at in matches:
        if (i, j) != (old_at, new_at):
            blocks.append(_Block(i, old_at, j, new_at))
        i, j = old_at + 1, new_at + 1
    return blocks


def _matches(old: list[str], new: list[str], span: _Block, budget: list[int]) -> Iterator[tuple[int, int]]:
    """Pairs of equal lines within `span`, rising in both: common ends first, then around lines that occur once in both
    ("patience"), then by difflib as long as the shared `budget` of pairs lasts."""
    pending = [span]
    found: list[tuple[int, int]] = []
    while pending:
        i, i_end, j, j_end = (s := pending.pop()).old_from, s.old_to, s.new_from, s.new_to
        while i < i_end and j < j_end and old[i] == new[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        while i < i_end and j < j_end and old[i_end - 1] == new[j_end - 1]:
            i_end, j_end = i_end - 1, j_end - 1
            found.append((i_end, j_end))
        if i == i_end or j == j_end:
            continue
        if anchors := _anchors(old, new, _Block(i, i_end, j, j_end)):
            found += anchors
            pending += _gaps(anchors, _Block(i, i_end, j, j_end))
        elif (pairs := (i_end - i) * (j_end - j)) <= budget[0]:
            budget[0] -= pairs
            found += _by_difflib(old, new, _Block(i, i_end, j, j_end))
    yield from sorted(found)


def _gaps(anchors: list[tuple[int, int]], span: _Block) -> Iterator[_Block]:
    i, j = span.old_from, span.new_from
    for old_at, new_at in [*anchors, (span.old_to, span.new_to)]:
        if i < old_at and j < new_at:
            yield _Block(i, old_at, j, new_at)
        i, j = old_at + 1, new_at + 1


def _anchors(old: list[str], new: list[str], span: _Block) -> list[tuple[int, int]]:
    """The longest rising chain of lines that occur exactly once on both sides of `span`."""
    in_old = Counter(old[span.old_from : span.old_to])
    in_new = Counter(new[span.new_from : span.new_to])
    places = {new[j]: j for j in range(span.new_from, span.new_to)}
    once = [
        (i, places[old[i]])
        for i in range(span.old_from, span.old_to)
        if in_old[old[i]] == 1 and in_new.get(old[i]) == 1
    ]
    return _longest_rising(once)


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of `pairs` (rising in the first number) that rises in the second too."""
    tops: list[int] = []
    at_top: list[int] = []
    previous: list[int] = []
    for index, (_, value) in enumerate(pairs):
        pile = bisect_left(tops, value)
        previous.append(at_top[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [value]
        at_top[pile : pile + 1] = [index]
    chain, index = [], at_top[-1] if at_top else -1
    while index >= 0:
        chain.append(pairs[index])
        index = previous[index]
    return chain[::-1]


def _by_difflib(old: list[str], new: list[str], span: _Block) -> Iterator[tuple[int, int]]:
    a, b = old[span.old_from : span.old_to], new[span.new_from : span.new_to]
    for i, j, size in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
        for step in range(size):
            yield span.old_from + i + step, span.new_from + j + step


def _offsets(lines: list[str]) -> list[int]:
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    return offsets


# --- Trimming ------------------------------------------------------------------------------------------------------


def _trimmed(before: str, start: int, end: int, text: str) -> Hunk:
    """The hunk without what its two sides share at both ends. No CRLF and no visible character is split."""
    old = before[start:end]
    head = _common(old, text)
    while head and (_joined(old, head) or _joined(text, head)):
        head -= 1
    tail = _common(old[head:][::-1], text[head:][::-1])
    while tail and (_joined(old, len(old) - tail) or _joined(text, len(text) - tail)):
        tail -= 1
    return Hunk(start + head, end - tail, text[head : len(text) - tail])


def _common(a: str, b: str) -> int:
    """The length of the longest common prefix, by halving: slices compare at the speed of memory."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _joined(text: str, at: int) -> bool:
    """Whether the characters on both sides of `at` belong together: CRLF, surrogates, combining and joined ones."""
    if not 0 < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    if right < "\u0300" and left < "\u0300":
        return left == "\r" and right == "\n"
    return (
        unicodedata.category(right).startswith("M")
        or "\u200d" in (left, right)
        or "\udc00" <= right <= "\udfff"
        or "\U0001f3fb" <= right <= "\U0001f3ff"
        or ("\U0001f1e6" <= left <= "\U0001f1ff" and "\U0001f1e6" <= right <= "\U0001f1ff")
        or ("\u1100" <= left <= "\u11ff" and "\u1160" <= right <= "\u11ff")
    )


# --- For people ----------------------------------------------------------------------------------------------------


def unified(path: str, before: str | None, after: str) -> str:
    """A unified diff for people; `before` None is a file that does not exist yet. "" when nothing differs.

    Line ends are shown as LF; where they are what changed, a CR is shown as `␍`.
    """
    old, new = split_lines(before or ""), split_lines(after)
    blocks = _blocks(old, new)
    if before is not None and not blocks:
        return ""
    name = _printable(path)
    out = [f"--- {'/dev/null' if before is None else f'a/{name}'}\n", f"+++ b/{name}\n"]
    for group in _grouped(blocks):
        out += _group(old, new, group)
    return "".join(out)


def _printable(path: str) -> str:
    return path if path.isprintable() else path.encode("unicode_escape").decode("ascii")


def _grouped(blocks: list[_Block]) -> Iterator[list[_Block]]:
    """Blocks whose context lines would meet are shown together."""
    group: list[_Block] = []
    for block in blocks:
        if group and block.old_from - group[-1].old_to > 2 * _CONTEXT:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _group(old: list[str], new: list[str], group: list[_Block]) -> Iterator[str]:
    lead = min(_CONTEXT, group[0].old_from)
    trail = min(_CONTEXT, len(old) - group[-1].old_to)
    old_range = _range(group[0].old_from - lead, group[-1].old_to + trail)
    new_range = _range(group[0].new_from - lead, group[-1].new_to + trail)
    yield f"@@ -{old_range} +{new_range} @@\n"
    position = group[0].old_from - lead
    for block in group:
        yield from (_shown(" ", line) for line in old[position : block.old_from])
        removed, added = old[block.old_from : block.old_to], new[block.new_from : block.new_to]
        ends_changed = not {_content(line) for line in removed}.isdisjoint(_content(line) for line in added)
        yield from (_shown("-", line, carriage="␍" if ends_changed else "") for line in removed)
        yield from (_shown("+", line, carriage="␍" if ends_changed else "") for line in added)
        position = block.old_to
    yield from (_shown(" ", line) for line in old[position : position + trail])


def _range(start: int, end: int) -> str:
    count = end - start
    first = start + 1 if count else start
    return f"{first}" if count == 1 else f"{first},{count}"


def _content(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _shown(sign: str, line: str, carriage: str = "") -> str:
    mark = carriage if line.endswith("\r\n") else ""
    missing = "" if line.endswith("\n") else "\\ No newline at end of file\n"
    content = _content(line) if line.endswith("\n") else line
    return f"{sign}{content}{mark}\n{missing}"


# --- Carrying a change onto a text that moved ----------------------------------------------------------------------


def rebase(base: str, proposal: str, current: str) -> str | None:
    """The change from `base` to `proposal`, made on `current` instead; None when that could be read in two ways.

    It is None where a line that the proposal touches changed meanwhile, and where a neighbour of lines that were added
    or removed did: nobody could say which came first.
    """
    if current in (base, proposal):
        return proposal
    old, new, now = split_lines(base), split_lines(proposal), split_lines(current)
    ours, theirs = _blocks(old, new), _blocks(old, now)
    if any(_collide(mine, yours, old, new, now) for mine in ours for yours in theirs):
        return None
    merged: list[str] = []
    position = 0
    steps = [(block, new) for block in ours] + [(block, now) for block in theirs]
    for block, source in sorted(steps, key=lambda step: step[0].old_from):
        merged += old[position : block.old_from] + source[block.new_from : block.new_to]
        position = block.old_to
    return "".join(merged + old[position:])


def _collide(mine: _Block, yours: _Block, old: list[str], new: list[str], now: list[str]) -> bool:
    my_from, my_to = _reach(mine, old, new)
    your_from, your_to = _reach(yours, old, now)
    if my_from < your_to and your_from < my_to:
        return True
    touching = my_from <= your_to and your_from <= my_to
    return touching and (mine.resizes or yours.resizes)


def _reach(block: _Block, old: list[str], new: list[str]) -> tuple[int, int]:
    """The old lines that `block` may be about. Among equal lines nobody can say which one was added or removed: the
    block could as well have slid up or down."""
    low, high = block.old_from, block.old_to
    side, first, last = (old, low, high) if block.new_from == block.new_to else (new, block.new_from, block.new_to)
    if block.old_from != block.old_to and block.new_from != block.new_to:
        return low, high
    up = 0
    while first - up > 0 and low - up > 0 and side[first - up - 1] == side[last - up - 1]:
        up += 1
    down = 0
    while last + down < len(side) and high + down < len(old) and side[first + down] == side[last + down]:
        down += 1
    return low - up, high + down
