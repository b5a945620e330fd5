"""Diagnostics after an accepted edit, whole: asked of the editor where it has the flag, and never a reason to fail."""

from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.editor import FLAGS, editor
from tests.fakes import FakeOllama, call, say

ASK = "llamagent/diagnostics"
ABLE = {**FLAGS, "diagnostics": True}
EDIT = call("edit_file", path="a.py", old_text="x = 1", new_text="x = y")
ACCEPTED = "Edited a.py (+1 -1). The user accepted it."


def diagnostic(line: Any, message: Any, severity: Any = 1) -> dict[str, Any]:
    place = {"line": line, "character": 0}
    return {"range": {"start": place, "end": place}, "message": message, "severity": severity, "source": "pyflakes"}


async def told(project: Path, home: Path, answer: Any, flags: dict[str, bool] = ABLE) -> tuple[str, list[Any]]:
    """The result of the edit, and what the editor was asked."""
    (project / "a.py").write_text("import os\nx = 1\n")
    with FakeOllama(replies=[EDIT, say("ok")]) as server:
        async with editor(project, home, url=server.url, flags=flags) as ed:
            await ed.open("a.py")
            if answer is not None:
                ed.answers[ASK] = answer
            await ed.ask("go")
            assert ed.text("a.py") == "import os\nx = y\n"
            return str(server.requests[-1].json["messages"][-1]["content"]), ed.asked(ASK)


async def test_errors_and_warnings_of_the_edited_file_reach_the_model(project: Path, home: Path) -> None:
    def answer(params: Any) -> dict[str, Any]:
        found = [diagnostic(0, "unused\n import", 2), diagnostic(1, "undefined name 'y'"), diagnostic(1, "a hint", 4)]
        return {"diagnostics": {params["uris"][0]: found}}

    result, asked = await told(project, home, answer)
    assert result == (
        f"{ACCEPTED}\nThe editor reports 2 problems in a.py:\n"
        "2: error: undefined name 'y' (pyflakes)\n1: warning: unused import (pyflakes)"
    )
    assert asked == [{"uris": [(project / "a.py").as_uri()]}]


@pytest.mark.parametrize(
    "answered",
    [
        {"diagnostics": {}},
        {"diagnostics": {"file:///elsewhere.py": [diagnostic(0, "x")]}},
        {"diagnostics": None},
        {"diagnostics": [diagnostic(0, "x")]},
        "yes",
        None,
    ],
)
async def test_an_answer_without_news_or_sense_is_passed_over(project: Path, home: Path, answered: Any) -> None:
    result, asked = await told(project, home, lambda _: answered)
    assert (result, len(asked)) == (ACCEPTED, 1)


async def test_odd_ones_are_left_out_and_the_rest_told(project: Path, home: Path) -> None:
    odd = [diagnostic("1", "no line"), diagnostic(1, ""), {"message": "no range"}, {}, diagnostic(1, "good", None)]
    result, _ = await told(project, home, lambda params: {"diagnostics": {params["uris"][0]: odd}})
    assert result == f"{ACCEPTED}\nThe editor reports 1 problem in a.py:\n2: error: good (pyflakes)"


async def test_an_error_reply_is_passed_over(project: Path, home: Path) -> None:
    assert (await told(project, home, None))[0] == ACCEPTED


async def test_a_client_without_the_flag_is_not_asked(project: Path, home: Path) -> None:
    assert await told(project, home, None, FLAGS) == (ACCEPTED, [])
