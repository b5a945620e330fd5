"""Thoughts that a model writes inline, between `<think>` tags, split from what it says. No I/O."""

import re

from llamagent_server.core.events import Channel

TAGS = {"<think>": "</think>", "<thinking>": "</thinking>", "[THINK]": "[/THINK]"}
# Some chat templates open the tag themselves: then only its end comes, on a line of its own.
_ORPHAN = re.compile(r"^[ \t]*</think>[ \t]*(?:\n|\Z)", re.MULTILINE)


class ThinkSplitter:
    """Fed content, gives (channel, text) pieces. Tags count only where the content begins (or begins again after a
    block of thoughts); a tag further on is text, a block never closed is thought to its end."""

    def __init__(self) -> None:
        self._held = ""  # text that may still turn out to be a tag
        self._closing: str | None = None  # inside a block: what ends it
        self._at_start = True
        self._had_block = False

    def feed(self, text: str) -> list[tuple[Channel, str]]:
        self._held += text
        pieces: list[tuple[Channel, str]] = []
        while self._step(pieces):
            pass
        return [(channel, piece) for channel, piece in pieces if piece]

    def close(self) -> list[tuple[Channel, str]]:
        """What was held back."""
        rest, self._held = self._held, ""
        if self._closing is not None:
            return [(Channel.THINKING, rest)] if rest else []
        if self._at_start and self._had_block:
            rest = rest.lstrip()
        return [(Channel.CONTENT, rest)] if rest else []

    def _step(self, pieces: list[tuple[Channel, str]]) -> bool:
        """Take what can be decided now; whether there may be more."""
        if self._closing is not None:
            return self._inside(self._closing, pieces)
        if self._at_start:
            return self._start()
        pieces.append((Channel.CONTENT, self._held))
        self._held = ""
        return False

    def _inside(self, closing: str, pieces: list[tuple[Channel, str]]) -> bool:
        thought, found, rest = self._held.partition(closing)
        if found:
            pieces.append((Channel.THINKING, thought))
            self._held, self._closing = rest, None
            self._at_start = self._had_block = True
            return True
        keep = _overlap(self._held, closing)
        pieces.append((Channel.THINKING, self._held[: len(self._held) - keep]))
        self._held = self._held[len(self._held) - keep :]
        return False

    def _start(self) -> bool:
        seen = self._held.lstrip()
        for opening, closing in TAGS.items():
            if seen.startswith(opening):
                self._held, self._closing = seen.removeprefix(opening), closing
                return True
            if opening.startswith(seen):
                return False
        self._at_start = False
        if self._had_block:
            self._held = seen
        return True


def split_orphan(content: str) -> tuple[str, str]:
    """(thinking, content) of a content with `</think>` alone on a line and no `<think>` before it."""
    found = _ORPHAN.search(content)
    if found is None or "<think>" in content[: found.start()]:
        return "", content
    return content[: found.start()].strip(), content[found.end() :].lstrip()


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of `text` may be the beginning of `tag`."""
    return next((size for size in range(min(len(text), len(tag) - 1), 0, -1) if text.endswith(tag[:size])), 0)
