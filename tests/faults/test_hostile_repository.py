"""The short form of the hostile repository: 2,000 files."""

import json
import sys
from pathlib import Path

import pytest

from tests.faults import hostile_repository

RECORD = """
import json, sys

def note(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo"):
        with open({path!r}, "a") as file:
            file.write(json.dumps([event, repr(arguments[1:] if event != "socket.getaddrinfo" else arguments)]) + "\\n")

sys.addaudithook(note)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: FIFOs, sparse files")
async def test_a_hostile_repository_is_listed_searched_and_read_within_bounds_and_changes_nothing(
    tmp_path: Path,
) -> None:
    """And of all connections that the daemon makes, each is to the configured server."""
    hook, connects = tmp_path / "hook", tmp_path / "connects"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(RECORD.format(path=str(connects)))
    found = await hostile_repository.run(tmp_path.resolve(), 2_000, {"PYTHONPATH": str(hook)})
    listed, searched, read = (found.tools[name] for name in ("list_files", "search_text", "read_file"))
    assert "many/0/ (500 files)" in listed[0] and "more]" in listed[2] and "leads out of the workspace" in listed[3]
    assert "many/3/1999.txt" in searched[0]
    assert any("is not text (it contains NUL bytes) (" in text and "GB" in text for text in read)
    assert not any("HIDDEN" in text for text in read)
    assert found.pings > 3 and max(len(text) for texts in found.tools.values() for text in texts) < 20_000
    made = [json.loads(line) for line in connects.read_text().splitlines()]
    port = found.url.rpartition(":")[2]
    assert made and [place for _, place in made if f"127.0.0.1', {port}" not in place] == []
