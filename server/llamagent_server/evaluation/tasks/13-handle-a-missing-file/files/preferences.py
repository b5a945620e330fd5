"""The user's preferences."""

import json
from pathlib import Path

DEFAULTS = {"theme": "light", "font": 12}


def load(path):
    """The preferences in the file, over the defaults."""
    return DEFAULTS | json.loads(Path(path).read_text(encoding="utf-8"))
