"""The user's preferences."""

import json
from pathlib import Path

DEFAULTS = {"theme": "light", "font": 12}


def load(path):
    """The preferences in the file, over the defaults."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return dict(DEFAULTS)
    return DEFAULTS | json.loads(text)
