"""Mentions in a prompt, over real stdio: what reaches the model, and what is said of the rest."""

from pathlib import Path

import pytest

from tests.end_to_end.editor import editor
from tests.fakes import FakeOllama, Request, say


def sent(request: Request) -> str:
    text = request.json["messages"][-1]["content"]
    assert isinstance(text, str)
    return text


async def test_files_lines_and_folders_go_along_as_they_are_on_screen(project: Path, home: Path) -> None:
    (project / "src/deep").mkdir(parents=True)
    (project / "src/a.py").write_text("old\n")
    (project / "src/deep/b.py").write_text("one\r\ntwo\r\nthree\r\n")
    (project / "my file.txt").write_text("spaces\n")
    with FakeOllama(replies=[say("ok")]) as server:
        async with editor(project, home, url=server.url) as ed:
            await ed.open("src/a.py", "unsaved\n")
            await ed.ask('see @src/a.py, @src/deep/b.py:2-3 and @"my file.txt" in @src/; mail me@example.org')
            (started,) = ed.of("turn.started")
            assert ed.of("notice") == []
    text = sent(server.requests[0])
    assert "src/a.py:\n```\nunsaved\n```" in text
    assert "src/deep/b.py lines 2-3:\n```\ntwo\r\nthree\r\n```" in text
    assert "my file.txt:\n```\nspaces\n```" in text
    assert "src/ (its files):\n```\nsrc/a.py\nsrc/deep/b.py\n```" in text
    assert started["files"] == ["src/a.py", "src/deep/b.py", "my file.txt", "src/ (its files)"]
    assert started["text"].startswith("see @src/a.py")


@pytest.mark.parametrize("flags", [None, {}], ids=["trace", "no flags"])
async def test_what_cannot_be_read_is_said_and_not_dropped(
    project: Path, home: Path, flags: dict[str, bool] | None
) -> None:
    (project / "src").mkdir()
    (project / "src/app.py").write_text("x\n")
    (project / "binary").write_bytes(b"\0\1\2")
    (home.parent / "secret.txt").write_text("SECRET")
    (project / "link.txt").symlink_to(home.parent / "secret.txt")
    with FakeOllama(replies=[say("ok")]) as server:
        async with editor(project, home, url=server.url, flags=flags) as ed:
            await ed.ask("@app.py @../secret.txt @link.txt @binary @~/x @src/app.py:5 @src/app.py:2-1 @nope/")
            told = [event["text"] for event in ed.of("notice")] + [
                params["message"] for params in ed.asked("window/showMessage") if params["type"] == 2
            ]
    text = sent(server.requests[0])
    assert "SECRET" not in text
    assert len(told) == 8
    for words in told:
        assert f"[{words}]" in text
    assert "@app.py was not read: app.py: there is no such file. Did you mean @src/app.py?" in told
    assert "@src/app.py:5 was not read: src/app.py has only 1 lines." in told
    assert any(words.startswith("@../secret.txt was not read: ") and "out of" in words for words in told)
    assert any(words.startswith("@link.txt was not read: ") and "out of" in words for words in told)


async def test_much_is_cut_to_the_budget_and_small_files_stay_whole(project: Path, home: Path) -> None:
    (project / "big.txt").write_text("".join(f"line {number}\n" for number in range(20_000)))
    (project / "huge.txt").write_text("".join(f"row {number}\n" for number in range(400_000)))
    (project / "small.txt").write_text("small and whole\n")
    with FakeOllama(replies=[say("ok")]) as server:
        async with editor(project, home, url=server.url, settings={"num_ctx": 4096}) as ed:
            await ed.ask("@big.txt @huge.txt:300000-300002 @huge.txt @small.txt")
            assert ed.of("notice") == []
    text = sent(server.requests[0])
    assert len(text) < 4096 * 3
    assert "line 0\n" in text and "row 299999\n" in text and "row 0\n" in text
    assert text.count("[cut here; read_file gives the rest]") == 2
    assert "small.txt:\n```\nsmall and whole\n```" in text


async def test_words_that_steer_a_turn_may_mention_too(project: Path, home: Path) -> None:
    (project / "a.py").write_text("here\n")
    with FakeOllama(replies=[say("first", before=0.2), say("second")]) as server:
        async with editor(project, home, url=server.url) as ed:
            _, first = await ed.start("ask", text="go")
            await ed.until(lambda: bool(server.requests))
            await ed.command("ask", text="see @a.py and @b.py", steer=True)
            await first
            assert [event["text"] for event in ed.of("notice")] == ["@b.py was not read: b.py: there is no such file."]
    assert "a.py:\n```\nhere\n```" in sent(server.requests[-1])


async def test_asks_keep_their_order_whatever_they_mention(project: Path, home: Path) -> None:
    for number in range(300):
        (project / f"file{number}.py").write_text("x\n")
    with FakeOllama(replies=[say("one"), say("two")]) as server:
        async with editor(project, home, url=server.url) as ed:
            _, first = await ed.start("ask", text="first @.")
            _, second = await ed.start("ask", text="first @file1.py @nothere.py")
            await first
            await second
            assert [event["text"] for event in ed.of("turn.started")] == ["first @.", "first @file1.py @nothere.py"]
    assert len(server.requests) == 2


@pytest.mark.parametrize("num_ctx", [2048, 4096, 8192])
@pytest.mark.parametrize("line", ["1234,5678,90.12,3456\n", "漢字かな交じり文を書く\n", "🦙é→«»\n"])
async def test_text_of_many_tokens_is_cut_so_that_it_fits(project: Path, home: Path, line: str, num_ctx: int) -> None:
    (project / "dense.txt").write_text(line * 20_000, encoding="utf-8")
    (project / "prose.txt").write_text("some plain words in a row\n" * 20_000)
    with FakeOllama(replies=[say("ok")]) as server:
        async with editor(project, home, url=server.url, settings={"num_ctx": num_ctx}) as ed:
            assert (await ed.ask("look at @dense.txt and @prose.txt"))["answer"] == "ok"
            assert ed.of("harness.decided") == []
    assert len(server.requests) == 1
    asked = server.requests[-1].json["messages"][-1]["content"]
    assert line * 5 in asked and "[cut here; read_file gives the rest]" in asked
