"""What a person sees of a turn: our trace, or progress and messages in an editor that knows nothing of us."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from llamagent_server.core.events import (
    ChangedFile,
    Channel,
    EditProposed,
    Event,
    EventBody,
    Level,
    ModelDelta,
    ModelRequested,
    Notice,
    StopReason,
    ToolReturned,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    TurnUsage,
)
from llamagent_server.lsp.progress import Progress
from llamagent_server.lsp.shown import ShownFiles
from llamagent_server.lsp.telling import Messages, TraceSender
from tests.lsp.loopback import Loopback, client

CREATE = "window/workDoneProgress/create"
SHOWS_PROGRESS = {"window": {"workDoneProgress": True}}


def events(*bodies: tuple[int, EventBody]) -> Iterable[Event]:
    for seq, (step, body) in enumerate(bodies):
        yield Event("s", "t", seq, step, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), body)


def ended(answer: str = "", reason: StopReason = StopReason.ANSWERED, error: str | None = None) -> TurnEnded:
    return TurnEnded(reason, answer, 1, TurnUsage(), 0.1, error)


TURN = (
    (0, TurnStarted("Fix the bug\nplease", "m")),
    (1, ModelRequested("r", "qwen", 10, 1)),
    (1, ToolStarted("c", "read_file")),
    (2, EditProposed("c", ("c",), "review", (ChangedFile("file:///p/a.py", 1, 1),), "")),
    (2, ended("done")),
)


# --- Progress --------------------------------------------------------------------------------------------------------


async def test_a_turn_is_one_progress_with_one_line_a_step() -> None:
    loop = Loopback({CREATE: lambda _: None})
    progress = Progress(loop.protocol, client(SHOWS_PROGRESS, locale="fr"))
    progress.attach("t", lambda: None, None)
    for event in events(*TURN):
        progress(event)
    await loop.until_sent("$/progress", 5)
    (created,) = loop.sent_params(CREATE)
    values = [params["value"] for params in loop.sent_params("$/progress")]
    assert {params["token"] for params in loop.sent_params("$/progress")} == {created["token"]}
    assert [value["kind"] for value in values] == ["begin", "report", "report", "report", "end"]
    assert values[0]["cancellable"] is True
    assert values[0]["message"] == "Fix the bug"
    assert [v["message"] for v in values[1:4]] == ["Étape 1 : qwen", "Étape 1 : read_file", "Étape 2 : a.py"]
    assert progress._bars == {}


async def test_a_wait_for_a_model_is_said_in_the_progress() -> None:
    loop = Loopback()
    progress = Progress(loop.protocol, client(SHOWS_PROGRESS))
    progress.attach("t", lambda: None, "mine")
    wait = Notice(Level.INFO, "Waiting for the model, 30 s.")
    for event in events((0, TurnStarted("Go", "m")), (1, ModelRequested("r", "qwen", 10, 1)), (1, wait), (1, ended())):
        progress(event)
    values = [params["value"] for params in loop.sent_params("$/progress")]
    assert values[2]["message"] == "Step 1: Waiting for the model, 30 s."


async def test_nothing_is_sent_before_the_client_knows_the_token() -> None:
    go = asyncio.Event()

    async def create(_: Any) -> Any:
        await go.wait()

    loop = Loopback({CREATE: create})
    progress = Progress(loop.protocol, client(SHOWS_PROGRESS))
    progress.attach("t", lambda: None, None)
    for event in events(*TURN):
        progress(event)
    await loop.until_sent(CREATE)
    assert loop.sent_params("$/progress") == []
    go.set()
    await loop.until_sent("$/progress", 5)


async def test_a_client_that_refuses_the_token_gets_no_progress() -> None:
    loop = Loopback()
    progress = Progress(loop.protocol, client(SHOWS_PROGRESS))
    progress.attach("t", lambda: None, None)
    for event in events(*TURN):
        progress(event)
    await loop.until_sent(CREATE)
    await asyncio.sleep(0.01)
    assert loop.sent_params("$/progress") == []


@pytest.mark.parametrize("token", ["client's", 0, 7])
async def test_the_clients_own_token_is_used(token: int | str) -> None:
    loop = Loopback()
    progress = Progress(loop.protocol, client({}))
    progress.attach("t", lambda: None, token)
    for event in events(*TURN):
        progress(event)
    assert loop.sent_params(CREATE) == []
    assert [params["token"] for params in loop.sent_params("$/progress")] == [token] * 5


@pytest.mark.parametrize("able", [{}, {**SHOWS_PROGRESS, "experimental": {"llamagent": {"trace": True}}}])
async def test_without_progress_or_with_a_trace_no_bar_is_made(able: dict[str, Any]) -> None:
    loop = Loopback()
    progress = Progress(loop.protocol, client(able))
    progress.attach("t", lambda: None, None)
    for event in events(*TURN):
        progress(event)
    assert loop.sent == []


async def test_the_button_cancels_its_own_turn_and_no_other() -> None:
    loop = Loopback()
    progress = Progress(loop.protocol, client({}))
    pressed: list[str] = []
    for turn in ("one", "two"):
        progress.attach(turn, lambda turn=turn: pressed.append(turn), turn)  # type: ignore[misc]
    for token in ("two", "three", 2):
        progress.cancel(token)
    progress.forget("two")
    progress.cancel("two")
    assert pressed == ["two"]


async def test_words_that_steer_a_running_turn_do_not_take_its_bar_away() -> None:
    loop = Loopback()
    progress = Progress(loop.protocol, client({}))
    pressed: list[str] = []
    progress.attach("t", lambda: pressed.append("first"), "first")
    progress.attach("t", lambda: pressed.append("second"), "second")
    progress.cancel("first")
    assert pressed == ["first"]


# --- Trace -----------------------------------------------------------------------------------------------------------


async def test_the_trace_is_every_event_as_json() -> None:
    loop = Loopback()
    sender = TraceSender(loop.protocol)
    wanted = list(events(*TURN))
    for event in wanted:
        sender(event)
    assert loop.sent_params("llamagent/trace") == [event.to_json() for event in wanted]


async def test_only_deltas_may_be_dropped_when_the_client_is_slow() -> None:
    loop = Loopback()
    for_show: list[bool] = []
    loop.protocol.send = lambda _, show: for_show.append(show)
    sender = TraceSender(loop.protocol)
    for event in events((0, TurnStarted("a", "m")), (1, ModelDelta(Channel.CONTENT, "a")), (1, ended())):
        sender(event)
    assert for_show == [False, True, False]


# --- Messages --------------------------------------------------------------------------------------------------------

INFO, WARNING, ERROR, LOG = 3, 2, 1, 4


async def check(body: EventBody, expected: list[tuple[str, int, str]], *, detached: bool = False) -> None:
    """`expected`: (method, type, what the message must contain)."""
    loop = Loopback()
    messages = Messages(loop.protocol, client({}), ShownFiles(loop.protocol, client({})))
    if detached:
        messages.detached.add("t")
    for event in events((1, body)):
        messages(event)
    told = [(m["method"], m["params"]["type"], m["params"]["message"]) for m in loop.sent]
    sent = [message for message in told if not message[2].startswith("the turn ended: ")]  # of every turn, in the log
    assert len(sent) == len(expected)
    for (method, kind, text), (wanted_method, wanted_kind, words) in zip(sent, expected, strict=True):
        assert (method, kind) == (wanted_method, wanted_kind)
        assert words in text


SHOW, NOTE = "window/showMessage", "window/logMessage"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (Notice(Level.ERROR, "broken"), [(SHOW, ERROR, "broken")]),
        (Notice(Level.WARNING, "odd"), [(SHOW, WARNING, "odd")]),
        (Notice(Level.INFO, "by the way"), [(NOTE, INFO, "by the way")]),
        (ended("It is 42."), [(SHOW, INFO, "It is 42.")]),
        (ended("stopped", StopReason.CANCELLED), []),
        (ended("", StopReason.ERROR, error="no model"), [(NOTE, ERROR, "no model")]),
        (ToolReturned("c", "read_file", True, "line 1\nline 2", False, 0.1), [(NOTE, LOG, "read_file: ok: line 1")]),
        (ModelDelta(Channel.CONTENT, "a"), []),
    ],
)
async def test_what_one_must_know_is_shown_and_the_rest_is_logged(
    body: EventBody, expected: list[tuple[str, int, str]]
) -> None:
    await check(body, expected)


async def test_the_failure_of_a_detached_turn_is_shown() -> None:
    await check(ended("", StopReason.ERROR, error="no model"), [(SHOW, ERROR, "no model")], detached=True)


LONG = "\n".join(f"line {number}" for number in range(100))


async def test_a_long_answer_is_shown_as_a_file() -> None:
    shown: list[str] = []

    def show(params: Any) -> Any:
        shown.append(Path(params["uri"].removeprefix("file://")).read_text())
        return {"success": True}

    loop = Loopback({"window/showDocument": show})
    able = client({"window": {"showDocument": {"support": True}}})
    files = ShownFiles(loop.protocol, able)
    messages = Messages(loop.protocol, able, files)
    for event in events((1, ended(LONG))):
        messages(event)
    await loop.until_sent("window/showDocument")
    await asyncio.gather(*messages._answers._showing)
    assert shown == [LONG]
    assert loop.sent_params(SHOW) == []
    files.close()


async def test_else_a_long_answer_is_shortened_with_the_files_path() -> None:
    loop = Loopback()
    files = ShownFiles(loop.protocol, client({}))
    messages = Messages(loop.protocol, client({}), files)
    for event in events((1, ended(LONG))):
        messages(event)
    said = (await loop.until_sent(SHOW))["message"]
    assert said.startswith("line 0\nline 1\n")
    assert "line 50" not in said
    assert Path(said.split()[-1]).read_text() == LONG
    files.close()
