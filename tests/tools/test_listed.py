"""What is listed is there: also where the search program was led out of the workspace meanwhile."""

import os
from pathlib import Path

import pytest

from tests.tools.doubles import Bench
from tests.workspace.projects import Project, Scripted, Swapping

unix = pytest.mark.skipif(os.name == "nt", reason="only on Unix")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """The folder `d` is a link outside while ripgrep works."""
    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    for number in range(300):
        (outside / f"sub/secret{number}.txt").write_text("x")
    (outside / "secret.txt").write_text("x")
    project = Project(tmp_path / "p").searched_by(Swapping("d", outside))
    project.write("d/a.txt", "x")
    return Bench(project)


@unix
@pytest.mark.parametrize("room", [500, 50_000])
async def test_names_outside_are_not_listed_while_a_folder_becomes_a_link_and_back(bench: Bench, room: int) -> None:
    result = await bench.result("list_files", room, path="d")
    assert "secret" not in result.content
    assert "sub" not in result.content


@unix
async def test_names_outside_are_not_named_as_what_may_be_meant(tmp_path: Path) -> None:
    project = Project(tmp_path).searched_by(Scripted(r"print('./d/secret.txt\0./e/secret.txt\0', end='')"))
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("x")
    (project.root / "d").symlink_to("../outside")
    project.write("e/secret.txt", "x")
    assert await project.workspace.alike("no/secret.txt") == ("e/secret.txt",)


async def test_a_document_that_is_only_on_screen_is_listed_and_its_folder_too(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("a.txt", "x")
    for number in range(100):
        project.open(f"new/file{number:03}.txt", "x")
    project.screen.show("untitled:Untitled-1", "x")
    bench = Bench(project)
    assert (await bench.result("list_files", 600)).content.split("\n")[:3] == [
        "new/ (100 files)", "a.txt", "untitled:Untitled-1",
    ]  # fmt: skip
    assert "new/file042.txt" in (await bench.result("list_files", 50_000)).content.split("\n")


async def test_in_several_folders_what_is_there_is_listed(tmp_path: Path) -> None:
    project = Project(tmp_path, folders=["one", "two"])
    (tmp_path / "two/sub").mkdir()
    (tmp_path / "two/sub/a.py").write_text("x")
    bench = Bench(project)
    assert (await bench.result("list_files")).content == "one/\ntwo/"
    assert (await bench.result("list_files", path="two")).content == "two/sub/a.py"
    assert (await bench.result("list_files", path="two/sub")).content == "two/sub/a.py"
