"""A home folder, or one that holds it, is no project until the person says so."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes import FakeOllama, say
from tests.terminal.terminals import Terminal, environment, piped


@dataclass(frozen=True)
class At:
    home: Path
    env: dict[str, str]

    def arguments(self, server: FakeOllama, *more: str, folder: Path | None = None) -> list[str]:
        return [str(folder or self.home), "-", more[0], "--url", server.url, *more[1:]]


@pytest.fixture
def at(tmp_path: Path) -> At:
    home = tmp_path / "home"
    home.mkdir()
    return At(home, environment(home))


@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("flags", [(), ("--yes",)])
def test_nobody_to_ask_means_no(at: At, above: bool, flags: tuple[str, ...]) -> None:
    with FakeOllama([say("hello")]) as server:
        folder = at.home.parent if above else at.home
        done = piped(at.arguments(server, "ask", "hi", *flags, folder=folder), at.env)
        assert server.requests == []
    assert done.returncode == 4
    what = "a folder that holds your home" if above else "your home folder"
    assert f"{folder} is {what}: the model may read all that is in it." in " ".join(done.stdout.split())
    assert "--dir" in done.stdout


def test_who_names_the_folder_means_it(at: At) -> None:
    with FakeOllama([say("hello there")]) as server:
        done = piped(at.arguments(server, "ask", "hi", "--dir", str(at.home)), at.env)
    assert done.returncode == 0
    assert "is your home folder" in done.stdout
    assert "hello there" in done.stdout


@pytest.mark.parametrize("yes", [False, True])
def test_the_person_is_asked(at: At, yes: bool) -> None:
    with FakeOllama([say("hello there")]) as server:
        terminal = Terminal(at.arguments(server, "ask", "hi"), at.env)
        terminal.expect("Take all of it as the project? [y/N]")
        assert server.requests == []
        terminal.type("y\n" if yes else "\n")
        terminal.expect("hello there" if yes else "Nothing was asked.")
        assert terminal.ended() == (0 if yes else 4)
        assert bool(server.requests) is yes


def test_a_chat_in_the_home_begins_with_the_question(at: At) -> None:
    with FakeOllama() as server:
        terminal = Terminal(at.arguments(server, "chat"), at.env)
        terminal.expect("Take all of it as the project? [y/N]")
        terminal.type("n\n")
        assert terminal.ended() == 4


def test_what_is_said_in_the_home_is_kept_as_that_of_any_folder(at: At) -> None:
    with FakeOllama([say("hello there")]) as server:
        done = piped(at.arguments(server, "ask", "hi", "--dir", str(at.home)), at.env)
    assert done.returncode == 0
    sessions = at.home / ".llamagent" / "sessions"
    assert list(sessions.glob("*.jsonl")) == []
    assert len(list(sessions.glob("home-*/*.jsonl"))) == 1
    assert not (at.home / ".llamagent" / ".gitignore").exists()
