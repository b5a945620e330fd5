"""The short form of the kill matrix: one run of each scenario."""

import sys
from pathlib import Path

import pytest

from tests.faults import kill_matrix


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: /proc tells what still runs")
@pytest.mark.parametrize("seed", range(len(kill_matrix.SCENARIOS)))
async def test_a_daemon_killed_in_a_turn_costs_nothing(seed: int, tmp_path: Path) -> None:
    assert await kill_matrix.run(seed, tmp_path.resolve()) == kill_matrix.SCENARIOS[seed]
