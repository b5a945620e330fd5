"""A model that goes round in circles: found, answered with what is missing, stopped with what was done."""

import itertools

import pytest

from llamagent_server.agent.ports import Consent, ConsentDecision, ModelInfo
from llamagent_server.agent.stalling import ANNOUNCED, ASKED_AGAIN, announces, same
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


# --- Talk instead of work --------------------------------------------------------------------------------------------

GOING_TO = "Okay. I will now read the file `a`."
WHICH = "There are two of them. Which file should I change?"


async def test_an_announcement_without_a_call_is_answered_once_and_the_work_goes_on() -> None:
    desk = Desk([reply(GOING_TO), read("a"), reply("It holds A.")], texts=TEXTS)
    result = await desk.ask().result()
    assert (result.answer, result.stop_reason, result.steps) == ("It holds A.", StopReason.ANSWERED, 3)
    assert decisions(desk) == ["nudge", "allow"]
    assert desk.model.requests[1].messages[-1].content == ANNOUNCED


async def test_announcements_again_and_again_are_stopped_with_what_was_done() -> None:
    desk = Desk([reply(GOING_TO), read("a"), reply("Now I'll edit it."), reply("never asked for")], texts=TEXTS)
    result = await desk.ask().result()
    assert result.stop_reason is StopReason.STEP_LIMIT
    assert result.answer == (
        "Stopped: the model says again and again what it will do, and does nothing. Say what it should do instead, or "
        "give it what it is missing. Done so far: 0 of 0 edits accepted, 0 commands run."
    )
    assert decisions(desk) == ["nudge", "allow", "stop"]
    assert desk.conversation.session.messages[-1].content == "Now I'll edit it."


async def test_a_question_that_the_person_has_answered_is_not_put_to_them_again() -> None:
    desk = Desk([reply(WHICH), reply("Which file should I change?"), read("a"), reply("It holds A.")], texts=TEXTS)
    assert (await desk.ask().result()).answer == WHICH
    result = await desk.ask("Change a.").result()
    assert (result.answer, result.stop_reason) == ("It holds A.", StopReason.ANSWERED)
    assert decisions(desk) == ["nudge", "allow"]
    assert desk.model.requests[2].messages[-1].content == ASKED_AGAIN


async def test_the_same_question_after_that_ends_the_turn() -> None:
    desk = Desk([reply(WHICH)] * 3)
    await desk.ask().result()
    result = await desk.ask("Change a.").result()
    assert result.stop_reason is StopReason.STEP_LIMIT
    assert result.answer.startswith("Stopped: the model asks again and again what you have answered. Say what")
    assert len(desk.model.requests) == 3


async def test_a_model_asked_by_schema_that_only_talks_is_told_the_same() -> None:
    said = ['{"answer": "Let me check the file."}', '{"tool": "read_file", "arguments": {"path": "a"}}']
    desk = Desk(
        [*map(reply, said), reply('{"answer": "It holds A."}')],
        texts=TEXTS,
        info=ModelInfo("m", capabilities=frozenset({"completion"})),
    )
    assert (await desk.ask().result()).answer == "It holds A."
    assert decisions(desk) == ["repair", "nudge", "allow"]


@pytest.mark.parametrize(
    "answer",
    [
        "Which file should I change?",
        "The function adds two numbers. Let me know if you need more.",
        "I changed the file. I will wait for your answer.",
        "I will not change this file.",
        "To fix it, I would change the sign. Should I do that?",
        "You will need to run the tests.",
        "The loop reads: I will now read the file, then stops.",
        "He said: let me in",
        "The plan:\n1. I will read the file.\n2. I will change the sign.",
        "Here is the plan. " + "It has many steps. " * 40 + "Then I will run the tests.",
        "Done.",
        "Ich werde oft gefragt, was das tut: es zählt.",
    ],
)
async def test_what_is_an_answer_is_taken_as_one(answer: str) -> None:
    desk = Desk([reply(answer)])
    result = await desk.ask().result()
    assert (result.answer, result.stop_reason, result.steps) == (answer, StopReason.ANSWERED, 1)


@pytest.mark.parametrize("answer", ["4", "Done.", "It holds A. It is the first letter of the alphabet."])
async def test_the_same_answer_in_two_turns_is_no_circle(answer: str) -> None:
    desk = Desk([reply(answer), reply(answer)])
    await desk.ask("what is 2+2").result()
    assert (await desk.ask("what is 2+2").result()).stop_reason is StopReason.ANSWERED


@pytest.mark.parametrize(
    "saying",
    [
        "I'll look at the code first.",
        "First, let me search for the function:",
        "Sure! I am going to fix the bug in `a.py`.",
        "The bug is in line 3.\n\nNow I will update the test…",
        "**Let me run the tests.**",
        "Je vais maintenant lire le fichier.",
        "Ich werde jetzt die Datei lesen.",
    ],
)
def test_what_announces_is_known(saying: str) -> None:
    assert announces(saying)


def test_of_long_sayings_the_ends_are_compared() -> None:
    ends = " ".join(f"word{number}" for number in range(300))
    one, other = ("left " * 1000) + ends, ("right " * 1000) + ends
    assert same(f"{one}?", f"{other}?")
    assert not same(f"{ends} {one.replace('word', 'name')}?", f"{ends} {other}?")
