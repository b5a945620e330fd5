"""The edits of one reply: one proposal, one review, and for each call its own result of what became of its file."""

from dataclasses import replace

import pytest

from llamagent_server.agent.ports import ReviewAnswer
from llamagent_server.agent.toolcalls import MAX_CALLS, TOO_MANY
from llamagent_server.core.events import StopReason
from llamagent_server.core.messages import ToolCall, ToolMessage
from llamagent_server.core.proposals import Proposal
from tests.agent.doubles import Desk, Project, Reviewer, answered, call, lie, reject, reply

TEXTS = {"a.py": "x = 1\ny = 1\n", "b.py": "z = 1\n"}


def edit(path: str, old: str, new: str) -> ToolCall:
    return call("edit_file", path=path, old_text=old, new_text=new)


async def done(desk: Desk) -> Desk:
    assert (await desk.ask().result()).stop_reason is StopReason.ANSWERED
    return desk


async def test_edits_of_several_files_are_one_proposal_with_all_their_calls() -> None:
    calls = [edit("a.py", "x = 1", "x = 2"), call("write_file", path="c.py", content="new\n"), edit("b.py", "z", "zz")]
    desk = await done(Desk([reply("", *calls), reply("done")], texts=TEXTS))
    (proposed,), (resolved,) = desk.of("edit.proposed"), desk.of("edit.resolved")
    assert proposed["calls"] == resolved["calls"] == [made.id for made in calls]
    assert proposed["call"] == resolved["call"] == calls[0].id
    assert [file["uri"] for file in proposed["files"]] == [f"file:///proj/{path}" for path in ("a.py", "c.py", "b.py")]
    assert resolved["outcome"] == "accepted"
    assert desk.project.texts == {"a.py": "x = 2\ny = 1\n", "b.py": "zz = 1\n", "c.py": "new\n"}
    assert desk.results() == [
        "Edited a.py (+1 -1). The user accepted it.",
        "Created c.py (+1 -0). The user accepted it.",
        "Edited b.py (+1 -1). The user accepted it.",
    ]
    assert [event["call"] for event in desk.of("tool.returned")] == [made.id for made in calls]


async def test_edits_beyond_those_that_one_reply_may_have_are_not_proposed() -> None:
    calls = [call("write_file", path=f"f{number}.py", content="x\n") for number in range(MAX_CALLS + 2)]
    desk = await done(Desk([reply("", *calls), reply("done")]))
    (proposal,) = desk.editor.reviewed
    assert len(proposal.changes) == len(desk.project.texts) == MAX_CALLS
    assert desk.results()[MAX_CALLS - 1 :] == [
        f"Created f{MAX_CALLS - 1}.py (+1 -0). The user accepted it.", TOO_MANY, TOO_MANY,
    ]  # fmt: skip


async def test_edits_of_one_file_build_on_one_another_and_are_one_change() -> None:
    calls = [
        edit("a.py", "x = 1", "x = 2"),
        edit("a.py", "x = 2\ny = 1", "x = 3\ny = 3"),
        edit("a.py", "y = 3", "y = 4"),
    ]
    desk = await done(Desk([reply("", *calls), reply("done")], texts=TEXTS))
    (proposal,) = desk.editor.reviewed
    assert [(change.before, change.after) for change in proposal.changes] == [(TEXTS["a.py"], "x = 3\ny = 4\n")]
    assert proposal.changes[0].version == 1
    assert desk.project.texts["a.py"] == "x = 3\ny = 4\n"
    assert desk.results() == [
        "Edited a.py (+1 -1). The user accepted it.",
        "Edited a.py (+2 -2). The user accepted it.",
        "Edited a.py (+1 -1). The user accepted it.",
    ]


async def test_a_file_is_created_and_then_edited_in_one_proposal() -> None:
    calls = [call("write_file", path="c.py", content="one\n"), edit("c.py", "one", "two")]
    desk = await done(Desk([reply("", *calls), reply("done")], texts=TEXTS))
    (proposal,) = desk.editor.reviewed
    assert [(change.before, change.after) for change in proposal.changes] == [(None, "two\n")]


async def test_an_edit_that_finds_no_place_gets_its_error_and_the_others_go_out() -> None:
    calls = [edit("a.py", "x = 1", "x = 2"), edit("a.py", "q = 1", "q = 2"), edit("b.py", "z", "zz")]
    desk = await done(Desk([reply("", *calls), reply("done")], texts=TEXTS))
    (proposed,) = desk.of("edit.proposed")
    assert proposed["calls"] == [calls[0].id, calls[2].id]
    first, second, third = desk.results()
    assert first.startswith("Edited a.py")
    assert second.startswith("old_text is not in the file. The nearest lines are")
    assert "1: x = 2" in second  # as it is with the edit before it
    assert third.startswith("Edited b.py")
    assert [event["ok"] for event in desk.of("tool.returned")] == [True, False, True]
    sent = [message for message in desk.model.requests[-1].messages if isinstance(message, ToolMessage)]
    assert [message.call_id for message in sent] == [made.id for made in calls]


@pytest.mark.parametrize("between", [call("run_command", command="make"), call("read_file", path="a.py"), call("fly")])
async def test_any_other_call_between_ends_the_batch(between: ToolCall) -> None:
    calls = [edit("a.py", "x = 1", "x = 2"), between, edit("a.py", "x = 2", "x = 3")]
    desk = await done(Desk([reply("", *calls), reply("done")], texts=TEXTS))
    assert [event["calls"] for event in desk.of("edit.proposed")] == [[calls[0].id], [calls[2].id]]
    assert [event["call"] for event in desk.of("tool.returned")] == [made.id for made in calls]
    assert desk.project.texts["a.py"] == "x = 3\ny = 1\n"


async def test_a_read_after_an_edit_sees_what_the_person_accepted() -> None:
    desk = await done(
        Desk([reply("", edit("a.py", "x = 1", "x = 2"), call("read_file", path="a.py")), reply("ok")], texts=TEXTS)
    )
    assert desk.results()[1] == "x = 2\ny = 1\n"


def only(*paths: str, as_it_is: bool = True) -> Reviewer:
    def reviewer(proposal: Proposal, project: Project) -> ReviewAnswer:
        for change in proposal.changes:
            if change.path in paths:
                project.put(change.path, change.after if as_it_is else change.after.replace("2", "9"))
        return answered(proposal, project, applied=True, reason="b.py: not now")

    return reviewer


async def test_who_keeps_some_of_the_files_is_read_back_file_by_file() -> None:
    calls = [edit("a.py", "x = 1", "x = 2"), edit("b.py", "z = 1", "z = 2")]
    desk = await done(Desk([reply("", *calls), reply("done")], texts=TEXTS, reviewer=only("a.py")))
    (resolved,) = desk.of("edit.resolved")
    assert resolved["outcome"] == "modified"
    assert "b/b.py" not in str(resolved["diff"])
    assert desk.results() == [
        "Edited a.py (+1 -1). The user accepted it.",
        'The user rejected this edit of b.py. Their words: "b.py: not now". Nothing was changed in it.',
    ]
    assert [event["ok"] for event in desk.of("tool.returned")] == [True, False]
    assert desk.project.texts["b.py"] == TEXTS["b.py"]


async def test_what_a_person_made_of_a_file_is_told_once_for_all_its_edits() -> None:
    calls = [edit("a.py", "x = 1", "x = 2"), edit("a.py", "y = 1", "y = 3"), edit("b.py", "z = 1", "z = 2")]
    reviewer = only("a.py", as_it_is=False)
    desk = await done(Desk([reply("", *calls), reply("done")], texts=TEXTS, reviewer=reviewer))
    first, second, third = desk.results()
    assert first.startswith("The user kept only a part or changed it.")
    assert "+x = 9" in first
    assert (
        second
        == "This edit of a.py was reviewed together with the one before it: the result there says what became of it."
    )
    assert third.startswith("The user rejected this edit of b.py.")
    assert [event["ok"] for event in desk.of("tool.returned")] == [True, True, False]


@pytest.mark.parametrize(("reviewer", "outcome"), [(reject, "rejected"), (lie, "failed")])
async def test_a_no_and_a_lie_are_told_to_each_call(reviewer: Reviewer, outcome: str) -> None:
    calls = [edit("a.py", "x = 1", "x = 2"), edit("b.py", "z = 1", "z = 2")]
    desk = await done(Desk([reply("", *calls), reply("done")], texts=TEXTS, reviewer=reviewer))
    assert [event["outcome"] for event in desk.of("edit.resolved")] == [outcome]
    assert all("Nothing was changed in it." in told for told in desk.results())
    assert desk.project.texts == TEXTS
    assert "2 edits were tried, and none was applied" in str(desk.of("notice")[0]["text"])


async def test_edits_that_undo_one_another_are_no_question_for_the_person() -> None:
    calls = [edit("a.py", "x = 1", "x = 2"), edit("a.py", "x = 2", "x = 1")]
    desk = await done(Desk([reply("", *calls), reply("done")], texts=TEXTS))
    assert desk.editor.reviewed == []
    assert (
        desk.results()
        == ["Together with the other edits of your reply this leaves a.py as it was. Nothing was changed in it."] * 2
    )


async def test_the_same_edit_twice_in_a_reply_is_made_once_and_its_rejection_remembered() -> None:
    same = {"path": "a.py", "old_text": "x = 1", "new_text": "x = 2"}
    twice = [call("edit_file", **same), call("edit_file", **same)]
    desk = Desk([reply("", *twice), reply("", call("edit_file", **same)), reply("done")], texts=TEXTS, reviewer=reject)
    await done(desk)
    assert len(desk.editor.reviewed) == 1
    assert desk.results()[2].startswith("The user rejected this edit of a.py.")


async def test_a_no_that_stops_ends_the_turn_after_every_call_has_its_result() -> None:
    def stop(proposal: Proposal, project: Project) -> ReviewAnswer:
        return replace(reject(proposal, project), stop=True)

    calls = [edit("a.py", "x = 1", "x = 2"), edit("b.py", "z = 1", "z = 2"), call("run_command", command="make")]
    desk = Desk([reply("", *calls)], texts=TEXTS, reviewer=stop)
    assert (await desk.ask().result()).stop_reason is StopReason.REFUSED
    assert desk.results()[2] == "Not run: the turn was stopped before this call."
