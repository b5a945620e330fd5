"""The scripted provider: a transcript played reply by reply."""

import asyncio
from pathlib import Path

import pytest

from llamagent_server.core.messages import Finish
from llamagent_server.errors import ContextOverflow, ModelError, ModelFailed, ModelNotFound, ModelUnreachable
from llamagent_server.providers.config import ProviderConfig
from llamagent_server.providers.scripted import Scripted, transcript_path
from tests.providers.asking import failure, reply, request


def scripted(folder: Path, *lines: str) -> Scripted:
    path = folder / "a transcript.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return Scripted(ProviderConfig(url=str(path)))


async def test_replies_are_played_in_their_order_and_the_end_is_said(tmp_path: Path) -> None:
    model = scripted(tmp_path, "# a remark", '{"content": "one"}', "", '{"content": "two", "finish": "length"}')
    assert (await reply(model)).content == "one"
    second = await reply(model)
    assert (second.content, second.finish) == ("two", Finish.LENGTH)
    error = (await failure(model)).error
    assert "has 2 replies, and this is request 3" in error.message


async def test_usage_is_what_the_transcript_says(tmp_path: Path) -> None:
    model = scripted(tmp_path, '{"content": "x", "usage": {"prompt_tokens": 100, "completion_tokens": 7}}', "{}")
    usage = (await reply(model)).usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (100, 7)
    assert (await reply(model)).usage.prompt_tokens is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ('"broken"', ModelFailed),
        ('{"kind": "model_error", "message": "broken"}', ModelFailed),
        ('{"kind": "model_unreachable", "message": "broken"}', ModelUnreachable),
        ('{"kind": "model_not_found", "message": "broken"}', ModelNotFound),
        ('{"kind": "context_overflow", "message": "broken", "hint": "Do."}', ContextOverflow),
    ],
)
async def test_an_error_ends_the_reply_where_it_is(tmp_path: Path, error: str, kind: type[ModelError]) -> None:
    broken = await failure(scripted(tmp_path, f'{{"content": "It prints", "error": {error}}}'))
    assert broken.content == "It prints"
    assert (type(broken.error), broken.error.message) == (kind, "broken")


@pytest.mark.parametrize("line", ["[1]", "nonsense", "{"])
async def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    error = (await failure(scripted(tmp_path, line))).error
    assert "Reply 1" in error.message
    assert "a transcript.jsonl" in error.message


async def test_a_delay_lets_others_run(tmp_path: Path) -> None:
    model = scripted(tmp_path, '{"content": "a b", "delay": 0.001}')
    others = 0

    async def count() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(count())
    await reply(model, request())
    task.cancel()
    assert others > 1


def test_the_transcript_is_a_path_or_a_file_url(tmp_path: Path) -> None:
    path = tmp_path / "a b.jsonl"
    assert transcript_path(str(path)) == path
    assert transcript_path(path.as_uri()) == path
