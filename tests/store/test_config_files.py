"""Settings files as they are found: which are read, and what is said about those that are not."""

import os
from pathlib import Path

import pytest

from llamagent_server.settings_load import Scope
from llamagent_server.store import places
from llamagent_server.store.config_files import MAX_BYTES, read_config_files


@pytest.fixture
def user() -> Path:
    folder = places.user_folder()
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / ".llamagent"
    folder.mkdir(parents=True)
    return folder


def test_nothing_there_is_nothing_said(tmp_path: Path) -> None:
    assert read_config_files(places.user_folder(), tmp_path) == ((), ())


def test_the_users_come_before_the_projects(user: Path, own: Path) -> None:
    for folder in (user, own):
        for name in ("config.toml", "server.toml"):
            (folder / name).write_text(f"# {name}")
    files, problems = read_config_files(user, own.parent)
    assert problems == ()
    assert [(file.shown, file.scope) for file in files] == [
        ("~/.llamagent/config.toml", Scope.USER),
        ("~/.llamagent/server.toml", Scope.USER),
        (".llamagent/config.toml", Scope.WORKSPACE),
        (".llamagent/server.toml", Scope.WORKSPACE),
    ]
    assert [file.text for file in files] == [f"# {file.file}" for file in files]
    assert len(read_config_files(user, None)[0]) == 2


def test_a_byte_order_mark_is_no_part_of_the_text(user: Path) -> None:
    (user / "config.toml").write_bytes(b"\xef\xbb\xbfmodel = 'm'\r\n")
    assert read_config_files(user, None)[0][0].text == "model = 'm'\r\n"


def test_what_is_not_utf8_names_the_line(user: Path) -> None:
    (user / "config.toml").write_bytes(b"model = 'm'\n# caf\xe9\n")
    files, problems = read_config_files(user, None)
    assert files == () and str(problems[0]).startswith("~/.llamagent/config.toml, line 2: ")


def test_a_huge_file_is_not_read(own: Path, user: Path) -> None:
    with (own / "config.toml").open("wb") as file:
        file.truncate(4 * 1024**3)
    (own / "server.toml").write_text("#" * MAX_BYTES)
    files, problems = read_config_files(user, own.parent)
    assert [file.shown for file in files] == [".llamagent/server.toml"]
    assert [problem.source for problem in problems] == [".llamagent/config.toml"]


@pytest.mark.skipif(os.name != "posix", reason="only on Unix: links")
def test_a_projects_folder_that_is_a_link_is_refused(user: Path, own: Path, tmp_path: Path) -> None:
    (own / "config.toml").write_text("model = 'm'")
    own.rename(tmp_path / "elsewhere")
    own.symlink_to(tmp_path / "elsewhere")
    files, problems = read_config_files(user, own.parent)
    assert files == () and "is a link" in str(problems[0])


@pytest.mark.skipif(os.name != "posix", reason="only on Unix: links, FIFOs")
def test_a_projects_file_that_is_no_ordinary_one_is_refused(user: Path, own: Path, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("model = 'm'")
    (own / "config.toml").symlink_to(tmp_path / "other.toml")
    os.mkfifo(own / "server.toml")
    files, problems = read_config_files(user, own.parent)
    assert files == () and len(problems) == 2


@pytest.mark.skipif(os.name != "posix", reason="only on Unix: links")
def test_the_persons_own_links_are_followed(user: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text("# kept")
    (user / "config.toml").symlink_to(tmp_path / "dotfiles.toml")
    user.rename(tmp_path / "kept")
    user.symlink_to(tmp_path / "kept")
    assert [file.text for file in read_config_files(user, None)[0]] == ["# kept"]


def test_the_home_as_a_project_is_the_users_and_no_project(user: Path) -> None:
    (user / "config.toml").write_text("url = 'http://mine:1'")
    files, problems = read_config_files(user, user.parent)
    assert [file.scope for file in files] == [Scope.USER] and problems == ()
