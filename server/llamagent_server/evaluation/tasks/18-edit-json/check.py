"""Two values changed; the file is still JSON, and the rest is as it was."""

import json
from pathlib import Path

found = json.loads(Path("app.json").read_text(encoding="utf-8"))
right = {
    "name": "tides",
    "retries": 5,
    "harbours": ["Kiel", "Cuxhaven", "Husum"],
    "notify": {"mail": True, "text": False},
}
assert found == right, found
assert list(found) == list(right), "the keys are in another order"
