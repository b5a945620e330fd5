"""A model that goes round in circles: found, answered with what is missing, stopped with what was done."""

import itertools

import pytest

from llamagent_server.agent.ports import Consent, ConsentDecision
from llamagent_server.core.events import StopReason
from llamagent_server.core.messages import Reply
from llamagent_server.core.transcript import Transcript
from tests.agent.doubles import Desk, call, reject, reply

TEXTS = {"a": "A", "b": "B", "c": "C"}


def read(path: str) -> Reply:
    return reply("", call("read_file", path=path))


def decisions(desk: Desk) -> list[str]:
    return [str(event["decision"]) for event in desk.of("harness.decided")]


async def test_calls_that_take_turns_are_answered_and_then_stopped() -> None:
    desk = Desk([read(path) for path in "ababab"], texts=TEXTS)
    result = await desk.ask().result()
    assert desk.ran == ["read a", "read b"]
    assert decisions(desk) == ["allow", "allow", "nudge", "nudge", "stop"]
    assert desk.results()[2].startswith("A\n\nYou made this same call before")
    assert result.stop_reason is StopReason.STEP_LIMIT
    assert result.answer == (
        "Stopped: the model goes round in circles (read_file, read_file, read_file), with nothing changed between. Say"
        " what it should do instead, or give it what it is missing. Done so far: 0 of 0 edits accepted, 0 commands run."
    )
    assert not Transcript(desk.conversation.session.messages).pending


async def test_three_calls_that_take_turns_are_stopped_too() -> None:
    desk = Desk([read(path) for path in "abcabcabc"], texts=TEXTS)
    assert (await desk.ask().result()).stop_reason is StopReason.STEP_LIMIT
    assert len(desk.model.requests) == 6


async def test_looking_again_now_and_then_is_no_circle() -> None:
    paths = [*"abacad", *"aeafa"]
    desk = Desk([*map(read, paths), reply("done")], texts={path: path for path in "abcdef"})
    result = await desk.ask().result()
    assert result.answer == "done"
    assert desk.ran == [f"read {path}" for path in "abcdef"]


async def test_a_change_makes_every_call_new() -> None:
    edits = [reply("", call("write_file", path="a", content=f"version {number}")) for number in range(4)]
    script = list(itertools.chain.from_iterable(zip(edits, [read("a")] * 4, [read("b")] * 4, strict=True)))
    desk = Desk([*rearmed(script), reply("done")], texts=TEXTS)
    assert (await desk.ask().result()).answer == "done"
    assert set(decisions(desk)) == {"allow", "ask"}


def rearmed(script: list[Reply]) -> list[Reply]:
    return [reply("", *(call(made.name, **made.arguments) for made in entry.tool_calls)) for entry in script]


@pytest.mark.parametrize("broken", [call("fly", to="moon"), call("read_file")], ids=["no such tool", "no path"])
async def test_the_same_mistake_again_and_again_is_stopped(broken) -> None:  # type: ignore[no-untyped-def]
    desk = Desk([reply("", call(broken.name, **broken.arguments)) for _ in range(5)])
    assert (await desk.ask().result()).stop_reason is StopReason.STEP_LIMIT
    assert len(desk.model.requests) == 3
    assert decisions(desk) == ["refuse", "nudge", "stop"]


def edit(old: str, path: str = "a") -> Reply:
    return reply("", call("edit_file", path=path, old_text=old, new_text="new"))


async def test_one_edit_in_many_variations_is_answered_with_what_to_do_and_then_stopped() -> None:
    desk = Desk([edit(f"guess {number}") for number in range(9)], texts=TEXTS)
    result = await desk.ask().result()
    assert len(desk.model.requests) == 4
    first, second, third, fourth = desk.results()
    assert first == "old_text is not in the file, nor anything like it. Read the file and copy old_text from it."
    assert second.startswith(f"{first}\n\nThis was edit 2 of a in a row that failed. Read")
    assert "edit 3 of a" in third
    assert "edit 4 of a" in fourth
    assert result.answer.startswith("Stopped: the model tried 4 times in a row to edit a, and found no place for it.")
    assert result.answer.endswith("Done so far: 0 of 4 edits accepted, 0 commands run.")


async def test_an_edit_that_finds_its_place_ends_the_row_and_other_files_have_their_own() -> None:
    script = [edit("1"), edit("2"), edit("x", "b"), edit("3"), edit("A"), edit("4"), edit("5"), reply("done")]
    desk = Desk(script, texts=TEXTS)
    assert (await desk.ask().result()).answer == "done"


async def test_the_person_is_not_asked_again_for_a_command_that_they_refused() -> None:
    script = [reply("", call("run_command", command="make")), read("a"), reply("", call("run_command", command="make"))]
    desk = Desk([*script, reply("Then run make yourself.")], texts=TEXTS)
    result = await desk.ask().result()
    assert desk.editor.asked == ["make"]
    assert decisions(desk) == ["ask", "allow", "refuse"]
    assert "is not asked again" in desk.results()[2]
    assert result.answer == "Then run make yourself."


async def test_asking_for_a_refused_command_a_third_time_stops_the_turn_and_the_next_turn_may_ask() -> None:
    desk = Desk([reply("", call("run_command", command="make")) for _ in range(4)] + [reply("ok")])
    result = await desk.ask().result()
    assert result.answer.startswith("Stopped: the model asked again and again for a command that you refused.")
    assert desk.editor.asked == ["make"]
    desk.editor.consents = [Consent(ConsentDecision.RUN)]
    await desk.ask("make it").result()
    assert desk.editor.asked == ["make", "make"]


async def test_a_command_that_says_the_same_again_and_again_is_told_and_stopped() -> None:
    desk = Desk([reply("", call("run_command", command="make")) for _ in range(9)])
    desk.editor.consents = [Consent(ConsentDecision.RUN)] * 9
    result = await desk.ask().result()
    assert desk.ran == ["run make"] * 5
    assert desk.results()[0] == "exit code 0"
    assert desk.results()[1] == (
        "exit code 0\n(The same output as before, 2 times now. Change something before you run it again.)"
    )
    assert result.answer.startswith("Stopped: the model ran `make` 5 times in a row, and it said the same each time.")
    assert result.answer.endswith("0 edits accepted, 5 commands run.")


async def test_a_command_between_edits_may_say_the_same_as_often_as_it_likes() -> None:
    steps = [
        made
        for number in range(6)
        for made in (
            reply("", call("write_file", path="a", content=f"version {number}")),
            reply("", call("run_command", command="make")),
        )
    ]
    desk = Desk([*steps, reply("done")], texts=TEXTS)
    desk.editor.consents = [Consent(ConsentDecision.RUN)] * 9
    assert (await desk.ask().result()).answer == "done"
    assert set(desk.results()[1::2]) == {"exit code 0"}


async def test_a_rejected_edit_in_turns_with_a_read_is_a_circle() -> None:
    script = [reply("", call("write_file", path="a", content="x")), read("a")] * 4
    desk = Desk(rearmed(script), texts=TEXTS, reviewer=reject)
    result = await desk.ask().result()
    assert len(desk.editor.reviewed) == 1
    assert result.stop_reason is StopReason.STEP_LIMIT
