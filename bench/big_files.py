"""An edit in a file of 1 MB and of 10 MB, stage by stage: `python -m bench.big_files`.

The daemon gets a call of `edit_file` for a line near the end of the file, once on the disk and once open in the editor.
The stages are those of the trace: found (place and diff), offered (the proposal is with the editor), applied (what the
editor itself took: no part of ours), read back. All by the same clock, in whole milliseconds.
"""

import asyncio
import json
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from bench import steps
from bench.clocked_server import MODEL
from bench.harness import Figure, options, report
from bench.memory import forget_peak, peak_mb
from bench.servers import started
from tests.end_to_end.editor import Editor, editor

SIZES = {"1 MB": 1_000_000, "10 MB": 9_900_000}  # the most that is edited is 10 MB
ROUNDS = 5
STAGES = ("found", "offered", "applied by the editor", "read back", "the whole step")
LIMITS = {"1 MB, on disk: ours": 100.0, "1 MB, open: ours": 200.0, "10 MB, on disk: ours": 1000.0}
NAMES = ("disk.py", "open.py")


def text(size: int) -> str:
    lines = [
        f"value_{number} = 'line {number} of a large file, of which few are alike'\n" for number in range(size // 60)
    ]
    return "".join(lines)[:size].rpartition("\n")[0] + "\n"


def says(content: str) -> list[dict[str, Any]]:
    """In turn an edit of a line near the end of each file, and the way back."""
    old = content.splitlines()[-100]
    found: list[dict[str, Any]] = []
    for name in NAMES:
        for before, after in ((old, f"{old}  # edited"), (f"{old}  # edited", old)):
            arguments = {"path": name, "old_text": before, "new_text": after}
            call = {"function": {"name": "edit_file", "arguments": arguments}}
            found.append({"role": "assistant", "content": "", "tool_calls": [call]})
            found.append({"role": "assistant", "content": "Done."})
    return found


class Clock:
    """When the editor got an edit, and when it had applied it."""

    def __init__(self, ed: Editor) -> None:
        self._ed = ed
        self.got = self.applied = 0.0
        ed.answers["workspace/applyEdit"] = self._apply

    async def _apply(self, params: Any) -> dict[str, Any]:
        self.got = time.time()
        answer = await self._ed.accept(params)
        self.applied = time.time()
        return answer


def moment(event: dict[str, Any]) -> float:
    return datetime.fromisoformat(event["time"]).timestamp()


async def one(ed: Editor, clock: Clock, url: str) -> dict[str, float]:
    """Milliseconds of each stage of the next edit."""
    await ed.command("new")
    ed.events.clear()
    steps_before = len(steps.times(url))
    _, answer = await ed.start("ask", text="Edit.")
    result = (await answer)["result"]
    (resolved,) = ed.of("edit.resolved")
    assert resolved["outcome"] == "accepted" and result["stopReason"] == "answered", (resolved, result)
    (replied, _), (proposed,) = ed.of("model.replied"), ed.of("edit.proposed")
    (returned,) = ed.of("tool.returned")
    whole = steps.between(steps.times(url)[steps_before:])[0]
    own = (clock.applied - clock.got) * 1e3
    found = (
        moment(proposed) - moment(replied),
        clock.got - moment(proposed),
        own / 1e3,
        moment(returned) - clock.applied,
    )
    return {**dict(zip(STAGES, [*(seconds * 1e3 for seconds in found), whole], strict=True)), "ours": whole - own}


async def sized(place: Path, label: str, size: int) -> list[Figure]:
    root = place / "project"
    root.mkdir(parents=True)
    content = text(size)
    for name in NAMES:
        (root / name).write_text(content)
    script, port = place / "script.jsonl", place / "port"
    script.write_text("".join(json.dumps(message) + "\n" for message in says(content)))
    taken: dict[str, list[float]] = {}
    with started("bench.clocked_server", str(script), str(port), port_file=port) as url:
        async with editor(root, place / "home", url=url, settings={"model": MODEL}) as ed:
            clock = Clock(ed)
            await ed.open("open.py")
            forget_peak(ed.client.process.pid)
            for _ in range(ROUNDS):
                for where in ("on disk", "on disk", "open", "open"):
                    for stage, milliseconds in (await one(ed, clock, url)).items():
                        taken.setdefault(f"{label}, {where}: {stage}", []).append(milliseconds)
            peak = Figure(f"{label}: peak memory", "MB", (peak_mb(ed.client.process.pid),))
    return [*(Figure(name, "ms", tuple(values)) for name, values in taken.items()), peak]


async def run() -> int:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        found = [figure for label, size in SIZES.items() for figure in await sized(place / label, label, size)]
    return report("big_files", found, limits=LIMITS)


if __name__ == "__main__":
    options(__doc__).parse_args()
    sys.exit(asyncio.run(run()))
