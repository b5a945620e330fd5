"""Documents that are open in the editor, as the connection knows them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """`uri` is in the client's own spelling; `text` is what is on the screen; `version` as the client counts.

    `problem` says why the text is not known, and what the person can do; then it is "".
    """

    uri: str
    text: str
    version: int
    language_id: str
    problem: str = ""


class Buffers(Protocol):
    """The open documents. Read on the event loop only."""

    @property
    def generation(self) -> int:
        """Counts up with every change to an open document, opening and closing included."""
        ...

    def get(self, uri: str) -> OpenDocument | None:
        """The open document of `uri`, in whatever spelling."""
        ...

    def all(self) -> Iterable[OpenDocument]: ...
