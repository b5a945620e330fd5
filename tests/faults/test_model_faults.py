"""The short form of the model server's faults."""

import sys
from pathlib import Path

import pytest

from tests.faults import model_faults


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: /proc tells what the daemon holds")
async def test_each_faulty_turn_ends_as_it_must_and_the_next_one_works(tmp_path: Path) -> None:
    ends = await model_faults.runs(8, 1, tmp_path.resolve())
    assert sum(ends.values()) == 8
