"""A model that is being loaded: the person is told that it is waited for, in the trace or in the progress."""

from pathlib import Path

from tests.end_to_end.editor import editor
from tests.fakes import FakeOllama, Refusal, say

LOADING = Refusal(503, {"error": "model is still loading"})
WORDS = "Ollama is still loading the model. Trying again in 1 s."


async def test_a_client_with_a_trace_is_told_in_it(project: Path, home: Path) -> None:
    with FakeOllama(replies=[LOADING, say("here")]) as server:
        async with editor(project, home, url=server.url) as ed:
            assert (await ed.ask("go"))["answer"] == "here"
    assert [event["text"] for event in ed.of("notice")] == [WORDS]


async def test_a_client_without_one_is_told_in_the_progress(project: Path, home: Path) -> None:
    with FakeOllama(replies=[LOADING, say("here")]) as server:
        async with editor(project, home, url=server.url, flags={}) as ed:
            ed.answers["window/workDoneProgress/create"] = lambda _: None
            assert (await ed.ask("go"))["answer"] == "here"
            values = [params["value"] for params in ed.asked("$/progress")]
    assert values[0]["kind"] == "begin" and values[0]["cancellable"] is True
    assert f"Step 1: {WORDS}" in [value.get("message") for value in values]


async def test_a_silent_server_is_waited_for_in_words(project: Path, home: Path) -> None:
    """Ten seconds: nothing else says that a big model is being read from the disk."""
    with FakeOllama(replies=[say("here", before=11.0)]) as server:
        async with editor(project, home, url=server.url, flags={}) as ed:
            ed.answers["window/workDoneProgress/create"] = lambda _: None
            assert (await ed.ask("go"))["answer"] == "here"
            messages = [params["value"].get("message") for params in ed.asked("$/progress")]
    assert "Step 1: Waiting for the model, 10 s." in messages
