"""The short form of the fuzzing: what was kept of the long runs (tests/faults/corpus), and some hundred new inputs."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.faults.fuzz.inputs import inputs, seeds
from tests.faults.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_what_once_crashed_does_so_no_more(name: str) -> None:
    for seed in seeds(name):
        TARGETS[name](seed)


@pytest.mark.parametrize("name", sorted(TARGETS))
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_input_is_too_much(name: str, data: st.DataObject) -> None:
    TARGETS[name](data.draw(inputs(name)))
