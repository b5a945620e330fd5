"""What both search programs keep to: how much of a file and of its hits, and how a text stands in `rg --json`.

Our own program imports this, and begins anew for each search: nothing here may take long to import.
"""

import base64
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llamagent_server.core.messages import Json

MAX_FILE_BYTES = 10_000_000
MAX_HITS_PER_FILE = 100


def text_field(value: "Json") -> str:
    """A text of `rg --json`, which writes what is no UTF-8 as base64."""
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("bytes"), str):
        return os.fsdecode(base64.b64decode(str(value["bytes"])))
    return str(value.get("text", ""))


def as_text_field(name: bytes) -> "dict[str, Json]":
    """The other way round."""
    try:
        return {"text": name.decode("utf-8")}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(name).decode("ascii")}
