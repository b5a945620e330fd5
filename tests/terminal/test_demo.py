"""What the demo says in the end. The show itself is under test with the real model."""

from pathlib import Path

import pytest

from llamagent_terminal.demo import next_steps


@pytest.mark.parametrize("there", [True, False])
def test_the_command_is_installed_before_it_is_used(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "llamagent-server"
    if there:
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    steps = next_steps("gemma3:4b")
    assert steps[1] == "ollama pull gemma3:4b"
    assert any("pipx install ." in step for step in steps) != there
    assert steps[-1] == "in your project: llamagent-server chat"
