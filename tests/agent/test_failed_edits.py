"""Edits that came to nothing although nobody said no: told as what they are, with what to do, and no endless tries."""

from dataclasses import replace

from llamagent_server.agent.ports import ReviewAnswer
from llamagent_server.core.events import StopReason
from llamagent_server.core.messages import Json, ToolMessage
from llamagent_server.core.proposals import Proposal
from tests.agent.doubles import Desk, Project, Reviewer, accept, answered, call, reject, reply

STALE = "stale: a.py was changed meanwhile"
TOLD = (
    "The edit of a.py was not applied: stale: a.py was changed meanwhile. Nothing was changed in it. The user did not "
    "reject it: read a.py again with read_file, then make the edit for what is there now."
)


def edit(path: str = "a.py", old: str = "x = 1", new: str = "x = 2") -> dict[str, Json]:
    return {"path": path, "old_text": old, "new_text": new}


def stale_first(then: Reviewer = accept, *, text: str = "x = 1\nmine\n") -> Reviewer:
    """The first edit finds that somebody changed the file on disk meanwhile: no buffer moves."""
    answers: list[ReviewAnswer] = []

    def review(proposal: Proposal, project: Project) -> ReviewAnswer:
        if answers:
            return then(proposal, project)  # type: ignore[return-value]
        project.texts["a.py"] = text
        failures = {"file:///proj/a.py": STALE}
        answers.append(replace(answered(proposal, project, applied=False, reason=STALE), base=(text,)))
        return replace(answers[0], failures=failures)

    return review


async def test_an_edit_of_a_file_that_changed_meanwhile_failed_and_was_not_rejected() -> None:
    desk = Desk(
        [reply("", call("edit_file", **edit())), reply("I see")], texts={"a.py": "x = 1\n"}, reviewer=stale_first()
    )
    await desk.ask().result()
    (resolved,) = desk.of("edit.resolved")
    assert (resolved["outcome"], resolved["reason"]) == ("failed", STALE)
    assert desk.results() == [TOLD]
    assert not desk.of("tool.returned")[0]["ok"]
    results = [m.content for m in desk.model.requests[1].messages if isinstance(m, ToolMessage)]
    assert results == [TOLD]
    assert desk.project.texts["a.py"] == "x = 1\nmine\n"


async def test_after_a_failed_edit_a_file_that_was_read_before_is_really_read_again() -> None:
    read, again = call("read_file", path="a.py"), call("read_file", path="a.py")
    script = [
        reply("", read),
        reply("", call("edit_file", **edit())),
        reply("", again),
        reply("", call("edit_file", **edit())),
    ]
    desk = Desk([*script, reply("done")], texts={"a.py": "x = 1\n"}, reviewer=stale_first())
    await desk.ask().result()
    assert desk.results()[2] == "x = 1\nmine\n"
    assert [event["outcome"] for event in desk.of("edit.resolved")] == ["failed", "accepted"]
    assert desk.project.texts["a.py"] == "x = 2\nmine\n"


async def test_a_real_no_after_a_failed_edit_is_a_no() -> None:
    script = [reply("", call("edit_file", **edit())) for _ in range(2)]
    desk = Desk([*script, reply("ok")], texts={"a.py": "x = 1\n"}, reviewer=stale_first(reject))
    await desk.ask().result()
    assert [event["outcome"] for event in desk.of("edit.resolved")] == ["failed", "rejected"]
    assert desk.results()[1].startswith("The user rejected this edit of a.py.")


async def test_of_two_files_the_one_that_failed_is_told_apart_from_the_one_that_was_taken_or_refused() -> None:
    async def outcome(*, taken: bool) -> tuple[list[str], list[str]]:
        def review(proposal: Proposal, project: Project) -> ReviewAnswer:
            if taken:
                project.put("b.py", "z = 2\n")
            answer = answered(proposal, project, applied=taken, reason=None if taken else "not b")
            return replace(answer, failures={"file:///proj/a.py": STALE})

        calls = [call("edit_file", **edit()), call("edit_file", **edit("b.py", "z = 1", "z = 2"))]
        desk = Desk([reply("", *calls), reply("done")], texts={"a.py": "x = 1\n", "b.py": "z = 1\n"}, reviewer=review)
        await desk.ask().result()
        return [str(event["outcome"]) for event in desk.of("edit.resolved")], desk.results()

    outcomes, results = await outcome(taken=True)
    assert outcomes == ["modified"]
    assert results == [TOLD, "Edited b.py (+1 -1). The user accepted it."]
    outcomes, results = await outcome(taken=False)
    assert outcomes == ["rejected"]
    assert results == [TOLD, 'The user rejected this edit of b.py. Their words: "not b". Nothing was changed in it.']


async def test_an_edit_that_can_never_be_made_is_tried_four_times_at_most() -> None:
    def locked(proposal: Proposal, project: Project) -> ReviewAnswer:
        answer = answered(proposal, project, applied=False)
        return replace(answer, failures={"file:///proj/a.py": "the buffer is locked"})

    desk = Desk(
        [reply("", call("edit_file", **edit(new=f"x = {n}"))) for n in range(2, 9)],
        texts={"a.py": "x = 1\n"},
        reviewer=locked,
    )
    result = await desk.ask().result()
    assert result.stop_reason is StopReason.STEP_LIMIT
    assert len(desk.editor.reviewed) == 4
    assert result.answer.startswith(
        "Stopped: 4 edits of a.py in a row could not be made (the buffer is locked). Say what it should do instead"
    )
