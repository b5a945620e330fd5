"""What the editor reports after an accepted edit goes into the tool's result: new problems first, in few words."""

import asyncio

import pytest

from llamagent_server.agent import problems
from llamagent_server.agent.ports import Problem
from llamagent_server.core.messages import Reply
from tests.agent.doubles import Desk, call, lie, reject, reply

A, B = "file:///proj/a.py", "file:///proj/b.py"
TEXT = "".join(f"line {number}\n" for number in range(1, 11))
UNDEFINED = Problem(3, "error", "undefined name 'x' (pyflakes)")
UNUSED = Problem(1, "warning", "unused import")


def edit(path: str = "a.py", line: int = 3, new: str = "x") -> Reply:
    return reply("", call("edit_file", path=path, old_text=f"line {line}\n", new_text=f"{new}\n"))


async def told(desk: Desk) -> list[str]:
    await desk.ask().result()
    return desk.results()


async def test_problems_stand_in_the_result_those_of_the_edited_lines_first() -> None:
    desk = Desk([edit(), reply("done")], texts={"a.py": TEXT})
    desk.editor.reported = [{A: [UNUSED, UNDEFINED]}]
    assert await told(desk) == [
        "Edited a.py (+1 -1). The user accepted it.\nThe editor reports 2 problems in a.py:\n"
        "3: error: undefined name 'x' (pyflakes)\n1: warning: unused import"
    ]
    assert desk.editor.asked_of == [(A,)]
    assert desk.of("tool.returned")[0]["content"] == desk.results()[0]


async def test_those_that_were_told_before_come_last_and_are_not_new() -> None:
    desk = Desk([edit(), edit(line=5, new="y"), edit(line=7, new="z"), edit(line=9), reply("ok")], texts={"a.py": TEXT})
    other = Problem(5, "warning", "y is odd")
    desk.editor.reported = [{A: [UNDEFINED]}, {A: [UNDEFINED, other]}, {A: [UNDEFINED]}, {A: []}]
    first, second, third, last = await told(desk)
    assert first.endswith("\nThe editor reports 1 problem in a.py:\n3: error: undefined name 'x' (pyflakes)")
    assert "reports 2 problems in a.py, 1 of them new:\n5: warning: y is odd\n3: error" in second
    assert "reports 1 problem in a.py, none of them new:\n3: error" in third
    assert last.endswith("\nThe editor reports no more problems in a.py.")


async def test_many_and_long_ones_are_bounded() -> None:
    desk = Desk([edit(), reply("done")], texts={"a.py": TEXT})
    desk.editor.reported = [{A: [Problem(n, "error", f"{n} " + "x" * 5000) for n in range(1, 501)]}]
    (result,) = await told(desk)
    assert result.endswith("\n[495 more]")
    assert len(result) < problems.MOST * (problems.WIDTH + 20) + 120


@pytest.mark.parametrize("reported", [{}, {A: []}, {B: [UNDEFINED]}])
async def test_no_news_costs_no_token(reported: dict[str, list[Problem]]) -> None:
    desk = Desk([edit(), reply("done")], texts={"a.py": TEXT})
    desk.editor.reported = [reported]
    assert await told(desk) == ["Edited a.py (+1 -1). The user accepted it."]


@pytest.mark.parametrize("reviewer", [reject, lie])
async def test_of_an_edit_that_was_not_made_nothing_is_asked(reviewer) -> None:  # type: ignore[no-untyped-def]
    desk = Desk([edit(), reply("done")], texts={"a.py": TEXT}, reviewer=reviewer)
    await told(desk)
    assert desk.editor.asked_of == []


async def test_all_files_are_asked_of_at_once_and_each_is_told_with_its_last_edit() -> None:
    calls = (*edit().tool_calls, *edit("b.py").tool_calls, *edit("a.py", 5).tool_calls)
    desk = Desk([reply("", *calls), reply("done")], texts={"a.py": TEXT, "b.py": TEXT})
    desk.editor.reported = [{A: [UNUSED], B: [UNDEFINED]}]
    first, second, third = await told(desk)
    assert desk.editor.asked_of == [(A, B)]
    assert first == "Edited a.py (+1 -1). The user accepted it."
    assert second.endswith("3: error: undefined name 'x' (pyflakes)")
    assert third.endswith("in a.py:\n1: warning: unused import")


async def test_an_editor_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk([edit(), reply("done")], texts={"a.py": TEXT})

    async def never(_uris: object) -> dict[str, list[Problem]]:
        await asyncio.Event().wait()
        return {}

    monkeypatch.setattr(desk.editor, "problems", never)
    monkeypatch.setattr(problems, "SECONDS", 0.0)
    assert await told(desk) == ["Edited a.py (+1 -1). The user accepted it."]
