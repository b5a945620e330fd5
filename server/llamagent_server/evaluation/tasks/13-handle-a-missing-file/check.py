"""A missing file gives a copy of the defaults; broken JSON is still an error."""

import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import preferences

got = preferences.load("missing.json")
assert got == {"theme": "light", "font": 12}, got
got["font"] = 99
assert preferences.load("missing.json")["font"] == 12, "the defaults themselves were given out"
Path("_some.json").write_text('{"font": 20}', encoding="utf-8")
assert preferences.load("_some.json") == {"theme": "light", "font": 20}
Path("_broken.json").write_text("{", encoding="utf-8")
try:
    preferences.load("_broken.json")
except json.JSONDecodeError:
    pass
else:
    raise AssertionError("broken JSON is no longer an error")
