"""A resolved path is opened as such: what was put in between meanwhile is not followed."""

import errno
import os
import threading
from pathlib import Path

import pytest

from llamagent_server.workspace import PathProblem, Purpose, Resolved, disk, opening
from llamagent_server.workspace.confinement import resolve
from tests.workspace.projects import Project

pytestmark = pytest.mark.skipif(os.name == "nt", reason="only on Unix")


@pytest.fixture(params=["by descriptor", "by path"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "BY_DESCRIPTOR", request.param == "by descriptor")


def resolved(project: Project, path: str) -> Resolved:
    found = resolve(path, Purpose.READ, project.folders)
    assert isinstance(found, Resolved)
    return found


@pytest.mark.usefixtures("way")
class TestBothWays:
    def test_an_ordinary_file_is_read(self, tmp_path: Path) -> None:
        project = Project(tmp_path)
        project.write("a/b.txt", "text\r\n")
        found = disk.read(resolved(project, "a/b.txt"), 100)
        assert isinstance(found, disk.DiskText)
        assert found.text == "text\r\n"

    @pytest.mark.parametrize("swapped", ["a", "a/b", "a/b/file.txt"])
    def test_a_link_that_took_the_place_of_a_part_is_not_followed(self, swapped: str, tmp_path: Path) -> None:
        project = Project(tmp_path)
        project.write("a/b/file.txt", "inside")
        outside = tmp_path / "outside"
        (outside / "b").mkdir(parents=True)
        for name in ("file.txt", "b/file.txt"):
            (outside / name).write_text("SECRET")
        place = resolved(project, "a/b/file.txt")
        (project.root / swapped).rename(tmp_path / "moved")
        target = outside / "file.txt" if swapped.endswith(".txt") else outside
        (project.root / swapped).symlink_to(target)
        assert "SECRET" not in str(disk.read(place, 100))
        assert not isinstance(disk.read(place, 100), disk.DiskText)

    @pytest.mark.parametrize("parts", [("..", "outside.txt"), ("a", "../../outside.txt"), ("a/../..", "outside.txt")])
    def test_names_that_lead_elsewhere_are_not_followed(self, parts: tuple[str, ...], tmp_path: Path) -> None:
        project = Project(tmp_path)
        project.write("a/b.txt", "inside")
        (project.parent / "outside.txt").write_text("SECRET")
        with pytest.raises(opening.NotOrdinary), opening.open_file(project.root, parts):
            pass

    def test_a_pipe_that_took_the_place_of_the_file_is_not_waited_for(self, tmp_path: Path) -> None:
        project = Project(tmp_path)
        file = project.write("file.txt", "inside")
        place = resolved(project, "file.txt")
        file.unlink()
        os.mkfifo(file)
        assert not isinstance(disk.read(place, 100), disk.DiskText)

    def test_entries_of_a_linked_folder_are_not_listed(self, tmp_path: Path) -> None:
        project = Project(tmp_path)
        (project.root / "link").symlink_to(tmp_path)
        with pytest.raises(OSError), opening.entries(project.root, ("link",)):
            pass


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("a/b.txt", "text")
    place = resolved(project, "a/b.txt")
    count = len(list(Path("/dev/fd").iterdir()))
    for _ in range(20):
        disk.read(place, 100)
        disk.read(place, 1)
        disk.read_lines(place, 1, 2)
    assert len(list(Path("/dev/fd").iterdir())) == count


def test_a_folder_that_turns_into_a_link_and_back_all_the_time_gives_nothing_from_outside(tmp_path: Path) -> None:
    """Whatever the moment: the file inside, or a refusal, and never an exception."""
    project = Project(tmp_path / "project")
    project.write("folder/file.txt", "inside")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file.txt").write_text("secret")
    folder, link, aside = (project.root / name for name in ("folder", "link", "aside"))
    link.symlink_to(outside)
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for here, there in ((folder, aside), (link, folder), (folder, link), (aside, folder)):
                here.rename(there)

    swapping = threading.Thread(target=swap)
    swapping.start()
    texts = set()
    for _ in range(4000):
        found = resolve("folder/file.txt", Purpose.READ, project.folders)
        read = disk.read(found, 100) if isinstance(found, Resolved) else None
        texts |= {read.text} if isinstance(read, disk.DiskText) else set()
    over.set()
    swapping.join()
    assert texts <= {"inside"}


def test_a_link_that_became_a_folder_while_it_was_followed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path)
    project.write("folder/file.txt", "inside")
    (project.root / "link").symlink_to("folder")

    def read_link(path: str) -> str:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)

    monkeypatch.setattr(os, "readlink", read_link)
    found = resolve("link/file.txt", Purpose.READ, project.folders)
    assert isinstance(found, PathProblem) and "Invalid argument" in found.message
