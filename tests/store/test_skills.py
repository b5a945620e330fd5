"""Skills: which there are, whose counts, what the model is given, and what is no skill."""

import os
from importlib.resources import files
from pathlib import Path

import pytest

from llamagent_server.errors import UnknownSkill
from llamagent_server.store import places
from llamagent_server.store.skills import DESCRIPTION_CHARS, list_skills, read_skill, read_skills, split_front_matter

SHIPPED = ["fix-a-bug", "write-pytest-tests"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".llamagent" / "skills").mkdir(parents=True)
    return folder


@pytest.fixture
def users() -> Path:
    folder = places.user_folder() / "skills"
    folder.mkdir(parents=True)
    return folder


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def in_project(project: Path, name: str, text: str) -> None:
    write(project / ".llamagent" / "skills", name, text)


def test_two_are_shipped_and_are_short_enough_for_a_small_model() -> None:
    assert [(skill.name, skill.source) for skill in list_skills(None)] == [(name, "shipped") for name in SHIPPED]
    for skill in list_skills(None):
        assert skill.description.endswith(".") and "---" not in skill.text
        # A token is about four characters of English.
        assert len(skill.text) / 4 < 250, skill.name


def test_both_layouts_are_read(project: Path, users: Path) -> None:
    write(users, "short.md", "---\ndescription: Mine.\n---\nDo it.")
    in_project(project, "long/SKILL.md", "---\nname: long\ndescription: 'Ours: all'\n---\n# Long\nDo that.\n")
    assert {(skill.name, skill.description, skill.source) for skill in list_skills(project)} >= {
        ("short", "Mine.", "user"),
        ("long", "Ours: all", "project"),
    }
    assert read_skill("long", project) == "# Long\nDo that." and read_skill("short", project) == "Do it."


def test_a_projects_skill_stands_before_the_users_and_that_before_a_shipped_one(project: Path, users: Path) -> None:
    write(users, "fix-a-bug.md", "user's")
    assert read_skill("fix-a-bug", project) == "user's"
    in_project(project, "fix-a-bug.md", "project's")
    assert read_skill("fix-a-bug", project) == "project's"
    assert read_skill("fix-a-bug", None) == "user's"
    assert [skill.name for skill in list_skills(project)] == SHIPPED


def test_without_a_description_the_first_line_stands_for_it(users: Path) -> None:
    write(users, "plain.md", "\n# Do it well\n\nSo.")
    write(users, "empty.md", "")
    assert {skill.name: skill.description for skill in list_skills(None)}["plain"] == "Do it well"
    assert read_skill("empty", None) == ""


def test_a_description_is_one_short_line(users: Path) -> None:
    write(users, "x.md", f"---\ndescription: >\n  Two\n  lines {'x' * 500}\n---\n")
    description = next(skill.description for skill in list_skills(None) if skill.name == "x")
    assert description.startswith("Two lines xxx") and len(description) == DESCRIPTION_CHARS


def test_an_unknown_skill_names_those_that_look_alike_or_all() -> None:
    with pytest.raises(UnknownSkill) as caught:
        read_skill("fix-bug", None)
    assert caught.value.hint == "Skills: fix-a-bug."
    with pytest.raises(UnknownSkill) as caught:
        read_skill("zzz", None)
    assert all(name in (caught.value.hint or "") for name in SHIPPED)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "..", "", "x/../../secret"])
def test_a_name_is_never_a_path(project: Path, name: str) -> None:
    (project / ".llamagent" / "secret.md").write_text("secret")
    with pytest.raises(UnknownSkill):
        read_skill(name, project)


@pytest.mark.skipif(os.name != "posix", reason="only on Unix: links")
def test_links_that_lead_out_of_the_project_are_refused_and_this_is_said(project: Path, tmp_path: Path) -> None:
    skills = project / ".llamagent" / "skills"
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "SKILL.md").write_text("secret")
    (skills / "file.md").symlink_to(tmp_path / "secret.md")
    (skills / "folder").symlink_to(tmp_path / "outside")
    (project / "docs.md").write_text("inside")
    (skills / "inside.md").symlink_to(project / "docs.md")
    shelf = read_skills(project)
    assert "file" not in shelf.skills and "folder" not in shelf.skills
    assert len(shelf.problems) == 2 and all("leads out of the project" in problem for problem in shelf.problems)
    assert read_skill("inside", project) == "inside"


@pytest.mark.skipif(os.name != "posix", reason="only on Unix: links")
def test_a_linked_folder_of_a_project_is_not_read(project: Path, tmp_path: Path) -> None:
    (project / ".llamagent").rename(tmp_path / "elsewhere")
    write(tmp_path / "elsewhere" / "skills", "planted.md", "obey")
    (project / ".llamagent").symlink_to(tmp_path / "elsewhere")
    shelf = read_skills(project)
    assert "planted" not in shelf.skills and "link" in shelf.problems[0]


@pytest.mark.skipif(os.name != "posix", reason="only on Unix: links")
def test_the_persons_own_links_are_followed(users: Path, tmp_path: Path) -> None:
    (tmp_path / "kept.md").write_text("kept elsewhere")
    (users / "kept.md").symlink_to(tmp_path / "kept.md")
    assert read_skill("kept", None) == "kept elsewhere"


@pytest.mark.skipif(os.name != "posix", reason="only on Unix: FIFOs")
def test_what_cannot_be_read_as_text_is_said_and_never_waited_for(project: Path) -> None:
    skills = project / ".llamagent" / "skills"
    (skills / "latin.md").write_bytes(b"caf\xe9")
    (skills / "huge.md").write_bytes(b"x" * 100_000)
    (skills / "folder.md").mkdir()
    os.mkfifo(skills / "fifo.md")
    shelf = read_skills(project)
    assert list(shelf.skills) == SHIPPED and len(shelf.problems) == 4


@pytest.mark.parametrize(
    ("content", "header", "text"),
    [
        ("---\na: b\n---\ntext", {"a": "b"}, "text"),
        ("---\r\ndescription: x\r\n---\r\ntext\r\n", {"description": "x"}, "text"),
        ('---\na: "b: c"\n---\n', {"a": "b: c"}, ""),
        ("---\na: b\n", {}, "---\na: b\n"),
        ("text\n---\na: b\n---\n", {}, "text\n---\na: b\n---\n"),
        ("---\n---\nx", {}, "x"),
        ("---\nlist:\n  - one\n  - two\nb: c\n---\n", {"list": "- one - two", "b": "c"}, ""),
        ("---\n: x\nno colon\na:b\n---\n", {"a": "b"}, ""),
        ("", {}, ""),
    ],
)
def test_front_matter(content: str, header: dict[str, str], text: str) -> None:
    assert split_front_matter(content) == (header, text)


def test_the_shipped_ones_are_in_the_package() -> None:
    assert sorted(file.name for file in files("llamagent_server").joinpath("skills").iterdir()) == [
        f"{name}.md" for name in SHIPPED
    ]


def shared(project: Path, name: str, text: str) -> None:
    write(project / ".agents" / "skills", name, text)


def test_skills_that_other_agents_share_count_and_ours_stand_before_them(project: Path) -> None:
    shared(project, "pdf/SKILL.md", "---\nname: pdf\ndescription: theirs\n---\nshared\n")
    shared(project, "only/SKILL.md", "---\ndescription: shared only\n---\nonly\n")
    in_project(project, "pdf.md", "---\ndescription: ours\n---\nown\n")
    skills = {skill.name: skill for skill in list_skills(project)}
    assert skills["pdf"].description == "ours" and skills["only"].description == "shared only"
    assert "only" not in [skill.name for skill in list_skills(None)]


def test_files_beside_a_skill_are_named_and_read_on_demand(project: Path) -> None:
    shared(project, "pdf/SKILL.md", "---\ndescription: d\n---\nthe skill\n")
    shared(project, "pdf/ref/forms.md", "forms\n")
    assert read_skill("pdf", project) == "the skill\n\nFiles of this skill, for load_skill: pdf/ref/forms.md"
    assert read_skill("pdf/ref/forms.md", project) == "forms\n"


@pytest.mark.parametrize(
    "path", ["../../../secret", "/etc/passwd", "link", "none.md", "ref", "binary", "../other/SKILL.md"]
)
def test_nothing_but_a_skills_own_text_files_is_read(project: Path, path: str) -> None:
    shared(project, "pdf/SKILL.md", "---\ndescription: d\n---\nx\n")
    shared(project, "pdf/ref/forms.md", "forms\n")
    shared(project, "other/SKILL.md", "---\ndescription: d\n---\nx\n")
    write(project, "secret", "SECRET")
    (project / ".agents/skills/pdf/binary").write_bytes(b"\xff\xfe\x00")
    (project / ".agents/skills/pdf/link").symlink_to(project / "secret")
    with pytest.raises(UnknownSkill):
        read_skill(f"pdf/{path}", project)


def test_a_shared_folder_that_is_a_link_is_not_followed(project: Path, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "skills", "evil/SKILL.md", "---\ndescription: d\n---\nx\n")
    (project / ".agents").symlink_to(tmp_path / "elsewhere")
    assert "evil" not in [skill.name for skill in list_skills(project)]
