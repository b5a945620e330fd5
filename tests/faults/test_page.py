"""docs/RELIABILITY.md names tests and constants that are there."""

import re
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "RELIABILITY.md").read_text("utf-8")


def test_each_test_that_it_names_is_there() -> None:
    named = set(re.findall(r"`(tests/[a-z_/]+\.py)`", PAGE))
    assert len(named) > 10 and {name for name in named if not (ROOT / name).exists()} == set()


def test_each_bound_that_it_names_is_there() -> None:
    rows = re.findall(r"^\| [^|]+ \| (`[a-z_]+/[^|]+) \|", PAGE, re.MULTILINE)
    assert len(rows) > 10
    for row in rows:
        module, _, first = re.findall(r"`([^`]+)`", row)[0].rpartition(".")
        names = [first, *re.findall(r"`(_?[A-Z_]+)`", row)]
        home = import_module(f"llamagent_server.{module.replace('/', '.')}")
        assert [name for name in names if not isinstance(getattr(home, name, None), int | float)] == []
