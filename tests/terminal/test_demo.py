"""What the demo says in the end, and how `make demo` ends. The show itself is under test with the real model."""

import os
import shutil
import subprocess
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


@pytest.mark.skipif(os.name != "posix" or shutil.which("make") is None, reason="needs make, and a shell script")
@pytest.mark.parametrize(("code", "ends"), [(0, 0), (4, 0), (1, 2)])
def test_make_demo_fails_where_the_demo_did_and_not_where_the_person_said_no(
    tmp_path: Path, code: int, ends: int
) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\nexit {code}\n")
    program.chmod(0o755)
    (tmp_path / ".ready-demo").touch()
    makefile = Path(__file__).parents[2] / "Makefile"
    command = ["make", "-f", str(makefile), "demo", f"VENV={tmp_path}", f"BIN={tmp_path}"]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / ".ready-demo")], cwd=makefile.parent, capture_output=True, check=False
    )
    assert done.returncode == ends
    assert (b"Error" in done.stderr) == (ends != 0)
