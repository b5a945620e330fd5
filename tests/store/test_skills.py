"""Skills: which there are, whose counts, what the model is given, and what is no skill."""

import os
from importlib.resources import files
from pathlib import Path

import pytest

from llamagent_server.errors import UnknownSkill
from llamagent_server.store import places
from llamagent_server.store.skill_headers import MOST_CHARS, SHOWN_CHARS, Weight, faults, read, split
from llamagent_server.store.skills import list_skills, read_skill, read_skills

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
    assert description.startswith("Two lines xxx") and len(description) == SHOWN_CHARS


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
        ("---\nlist:\n  - one\n  - two\nb: c\n---\n", {"list": None, "b": "c"}, ""),
        ("---\na: >\n  two\n  lines\nb: &x y\nc: *x\n---\n", {"a": "two lines\n", "b": "y", "c": None}, ""),
        ("---\na: {b: [c, {d: e}]}\nf: g\n---\n", {"a": None, "f": "g"}, ""),
        ("---\n# words\n\na: b # c\n---\n", {"a": "b"}, ""),
        ("---\na: yes\nb: 1\n---\n", {"a": "yes", "b": "1"}, ""),
        ("", {}, ""),
    ],
)
def test_a_header_is_yaml(content: str, header: dict[str, str | None], text: str) -> None:
    yaml, rest = split(content)
    found = read(yaml or "")
    assert found.problem is None
    assert ({entry.key: entry.value for entry in found.entries}, rest) == (header, text)


@pytest.mark.parametrize(
    ("yaml", "problem", "line"),
    [
        ("a: b: c", "mapping values are not allowed here", 0),
        ("a: b\n\tc: d", "cannot start any token", 1),
        ("a: *nope", None, 0),
        ("- a\n- b", "lines of the form", 0),
        ("just words", "lines of the form", 0),
        ("[a]: b", "one word", 0),
        ("a: \x00", "characters that are not allowed", 0),
        ("\n".join(" " * depth + "a:" for depth in range(30)), "nested too deeply", 0),
        ("- " * 1500, "lines of the form", 0),
        ("[" * 4000, "too many brackets", 0),
        ("a: [" + "[]," * 1000 + "]", "too many brackets", 0),
        ("a: " + "x" * MOST_CHARS, "longer than 4096", 0),
        ("? a\n" * 500, "too many values", 0),
        ("a: [" + "b, " * 500 + "]", "too many values", 0),
        ("%YAML 9.9\n", "no valid YAML", 0),
    ],
)
def test_a_header_that_cannot_be_read_says_why_and_costs_little(yaml: str, problem: str | None, line: int) -> None:
    found = read(yaml)
    assert (found.problem is None) == (problem is None)
    assert (problem or "") in (found.problem or "") and found.line == line


def test_a_bomb_of_aliases_is_passed_over() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{c}: &{c} [*{p}, *{p}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True))
    assert read(f"{bomb}description: fine").text("description") == "fine"


def test_a_skill_with_a_broken_header_still_counts_and_this_is_said(users: Path) -> None:
    write(users, "odd.md", "---\ndescription: Use: when\n---\n# Odd one\nDo it.")
    shelf = read_skills(None)
    assert (shelf.skills["odd"].description, shelf.skills["odd"].text) == ("Odd one", "# Odd one\nDo it.")
    assert shelf.problems == (
        "The header of the skill odd is not read: this is no valid YAML: mapping values are not allowed here.",
    )


GOOD = "---\nname: pdf\ndescription: Reads PDFs.\nlicense: MIT\nmetadata:\n  version: '1'\n---\n# PDF\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (GOOD, []),
        (GOOD.replace("name: pdf", "name: pfd"), [(1, 0, 4, 'not that of the folder, "pdf"')]),
        (
            GOOD.replace("description", "descripton"),
            [(0, 0, 3, '"description" is missing'), (2, 0, 10, 'mean "description"?')],
        ),
        (GOOD.replace("license", "colour"), [(3, 0, 6, "others belong below metadata")]),
        (GOOD.replace("name: pdf\n", ""), [(0, 0, 3, '"name" is missing')]),
        (GOOD.replace("Reads PDFs.", ""), [(2, 0, 11, '"description" is empty')]),
        (GOOD.replace("Reads PDFs.", "x" * 1025), [(2, 0, 11, "has 1025 characters: at most 1024")]),
        (GOOD.replace("Reads PDFs.", "x" * 300), [(2, 0, 11, "first 200 characters")]),
        (GOOD.replace("Reads PDFs.", "[a]"), [(2, 0, 11, '"description" must be a text')]),
        (GOOD.replace("\n  version: '1'", " 1"), [(4, 0, 8, '"metadata" must be a map')]),
        (GOOD.replace("license: MIT", "name: pdf"), [(3, 0, 4, "a second time")]),
        (GOOD.replace("Reads PDFs.", "a: b"), [(2, 0, 17, "no valid YAML")]),
        ("# PDF\n", [(0, 0, 5, 'begins with a line "---"')]),
        ("---\nname: pdf\n", [(0, 0, 3, 'no second line "---"')]),
        ("", [(0, 0, 0, 'begins with a line "---"')]),
    ],
)
def test_what_is_wrong_with_a_header(content: str, expected: list[tuple[int, int, int, str]]) -> None:
    found = faults(content, "pdf")
    assert [(fault.line, fault.start, fault.end) for fault in found] == [row[:3] for row in expected]
    assert all(words in fault.message for fault, (_, _, _, words) in zip(found, expected, strict=True))


def test_the_form_of_a_name_and_a_skill_that_is_one_file() -> None:
    (fault,) = faults(GOOD.replace("name: pdf", "name: My Skill"), None)
    assert "small letters, digits and hyphens" in fault.message and fault.weight is Weight.WARNING
    assert faults("---\ndescription: d\n---\nx", None) == []


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
