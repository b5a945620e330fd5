"""What a prompt mentions: `@path`, `@path:10-20`, `@"a path with spaces"` (in whatever quotes), `@folder/`."""

import re
from bisect import bisect_right
from dataclasses import dataclass

_TICKS = re.compile("`+")
# An e-mail address has a letter before its @; an apostrophe has one behind it.
_MENTION = re.compile(
    r"""(?<![^\s(\[{"'<,;:“”„‘’‚«»])@
    (?: (?: "(?P<quoted>[^"\n]+)" | [“”](?P<double>[^“”\n]+)” | „(?P<low>[^“”„\n]+)[“”] | «(?P<angled>[^«»\n]+)»
          | '(?P<single>(?:[^'\n]|'(?=\w)){1,300})'(?!\w) | [‘’‚](?P<curly>(?:[^‘’‚\n]|’(?=\w)){1,300})[‘’](?!\w) )
        (?: : (?P<from>\d{1,9}) (?: - (?P<to>\d{1,9}) )? )?
      | (?P<bare>[^\s"@`'“”„‘’‚«»][^\s"`]*) )""",
    re.VERBOSE,
)
_QUOTED = ("quoted", "double", "low", "angled", "single", "curly")
_RANGE = re.compile(r"(?P<path>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")
_AFTER = ".,;:!?)]}>'\"“”‘’»"  # what a sentence may put behind a path


@dataclass(frozen=True, slots=True)
class Mention:
    """`written` is how it stands in the prompt; lines count from 1, `last` included, None for the whole."""

    written: str
    path: str
    first: int | None = None
    last: int | None = None


def mentions(text: str) -> tuple[Mention, ...]:
    """The mentions of a prompt in their order, each once."""
    found: dict[tuple[str, int | None, int | None], Mention] = {}
    for match in _MENTION.finditer(_without_code(text)):
        mention = _bare(match) if match["bare"] else _quoted(match)
        if mention is not None:
            found.setdefault((mention.path, mention.first, mention.last), mention)
    return tuple(found.values())


def _without_code(text: str) -> str:
    """`text` with blanks where it has code in backquotes: that is quoted, and mentions nothing."""
    runs = [match.span() for match in _TICKS.finditer(text)]
    by_length: dict[int, list[int]] = {}
    for index, (start, end) in enumerate(runs):
        by_length.setdefault(end - start, []).append(index)
    pieces, kept, index = [], 0, 0
    while index < len(runs):
        start, end = runs[index]
        alike = by_length[end - start]
        after = bisect_right(alike, index)
        closing = alike[after] if after < len(alike) else None
        # Only a block's fence goes on over an empty line.
        if closing is not None and (end - start > 2 or text.find("\n\n", end, runs[closing][0]) < 0):
            pieces += [text[kept:start], " " * (runs[closing][1] - start)]
            kept, index = runs[closing][1], closing
        index += 1
    return "".join(pieces) + text[kept:]


def _quoted(match: re.Match[str]) -> Mention | None:
    """The lines stand behind the quotes, or within them as people write them too."""
    path = next(found for found in match.group(*_QUOTED) if found).strip()
    if match["from"] is None and (ranged := _RANGE.fullmatch(path)):
        return Mention(match[0], ranged["path"], *_lines(ranged["first"], ranged["last"]))
    return Mention(match[0], path, *_lines(match["from"], match["to"])) if path else None


def _bare(match: re.Match[str]) -> Mention | None:
    path = match["bare"].rstrip(_AFTER)
    ranged = _RANGE.fullmatch(path)
    if ranged:
        return Mention(f"@{path}", ranged["path"], *_lines(ranged["first"], ranged["last"]))
    return Mention(f"@{path}", path) if path else None


def _lines(first: str | None, last: str | None) -> tuple[int | None, int | None]:
    if first is None:
        return None, None
    return max(1, int(first)), max(1, int(last or first))
