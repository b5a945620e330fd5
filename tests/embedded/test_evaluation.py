"""The shipped tasks on the embedded model: its score is printed as it is; that nothing breaks off is tested."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from llamagent_server.evaluation.tasks import SHIPPED
from tests.conftest import TOLD

STEPS = 1  # the tiny model goes nowhere with more
EVERY = 4  # all twenty take minutes: `llamagent-server eval --provider embedded`
TASKS = sorted(folder for folder in SHIPPED.iterdir() if folder.is_dir())


def test_shipped_tasks_run_to_their_end_on_the_real_engine(
    cache: dict[str, str], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    chosen = TASKS[::EVERY]
    (tmp_path / "tasks").mkdir()
    for folder in chosen:
        (tmp_path / "tasks" / folder.name).symlink_to(folder)
    flags = ["--provider", "embedded", "--num-ctx", "2048", "-t", "0", "--steps", str(STEPS)]
    command = [sys.executable, "-m", "llamagent_server", "eval", str(tmp_path / "tasks"), *flags]
    out = tmp_path / "out"
    ran = subprocess.run(
        [*command, "--out", str(out)], env=cache, capture_output=True, text=True, timeout=230, check=False
    )
    assert ran.returncode == 0, ran.stderr  # nothing broke off
    report = json.loads((out / "report.json").read_text())
    (score,) = report["scores"]
    record_property(TOLD, f"{score['model']} solved {score['solved']} of {score['attempts']}")
    attempts = report["attempts"]
    assert {attempt["case"]["task"] for attempt in attempts} == {folder.name for folder in chosen}
    for attempt in attempts:
        assert not attempt["reason"].startswith("error"), attempt
        assert attempt["measures"]["steps"] == STEPS and attempt["measures"]["prompt_tokens"] > 0, attempt
