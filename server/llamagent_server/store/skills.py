"""Skills: instructions that the model loads by name, shipped with us, the user's, and a trusted project's.

`<name>.md`, or `<name>/SKILL.md`; the header (`skill_headers`) holds a `description`. A project's skill
stands before the user's of the same name, and that before a shipped one. A project's are in `.llamagent/skills` and in
`.agents/skills`, where other agents look too. The files beside a SKILL.md are read by `name/path`.
"""

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path

from llamagent_server.errors import TRUST, UnknownSkill, Untrusted
from llamagent_server.processes.there import is_file, is_link, is_there
from llamagent_server.store import brought, places
from llamagent_server.store.brought import Brought, Seen
from llamagent_server.store.places import Place
from llamagent_server.store.skill_headers import SHOWN_CHARS, read, split

FOLDER = "skills"
SHARED = ".agents"
NESTED = "SKILL.md"
MAX_BYTES = 64 * 1024
MOST_FILES = 30  # beside a SKILL.md, that are named to the model
MOST_LOOKED_AT = 1_000
DEEPEST = 8  # folders below that of a skill
MOST_SKILLS = 200  # in one folder: each is read before each turn
PROJECT = "project"
NEW = "is new or has changed since you trusted this folder, so it does not count"

_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class Skill:
    """`text` is what the model is given, without the front matter. `source` is "shipped", "user" or "project"."""

    name: str
    description: str
    source: str
    text: str
    folder: Path | None = None  # with no link in it; what lies there belongs to the skill
    problem: str | None = None  # why its header could not be read


@dataclass(frozen=True, slots=True)
class Shelf:
    """The skills that there are, by name, and what is said about files that are none. `new`: skills of the project
    that its person has not `seen`."""

    skills: Mapping[str, Skill]
    problems: tuple[str, ...] = ()
    new: frozenset[str] = frozenset()
    seen: Seen = brought.every

    def get(self, name: str) -> Skill:
        """Raises UnknownSkill, naming those that look alike, or all."""
        found = self.skills.get(name)
        if found is not None:
            return found
        near = difflib.get_close_matches(name, self.skills, n=3) or sorted(self.skills)
        hint = f"Skills: {', '.join(near)}." if near else "There are no skills."
        raise UnknownSkill(f"There is no skill {name!r}.", hint=hint)

    def text(self, name: str) -> str:
        """What the model is given for a skill, or for `skill/path` of a file beside it. Raises UnknownSkill, and
        Untrusted for what its person has not seen."""
        name, _, path = name.partition("/")
        if name in self.new and name not in self.skills:
            raise Untrusted(f"The skill {name} {NEW}.", hint=TRUST)
        skill = self.get(name)
        if path:
            return self._beside(skill, path)
        listed = _listed(skill)
        return f"{skill.text}\n\nFiles of this skill, for load_skill: {', '.join(listed)}" if listed else skill.text

    def _beside(self, skill: Skill, path: str) -> str:
        name, text = _file_beside(skill, path)
        if skill.source == PROJECT and not self.seen(brought.of_skill_file(skill.name, name, text)):
            raise Untrusted(f"The file {name} of the skill {skill.name} {NEW}.", hint=TRUST)
        return text


def read_skills(project: Path | None, seen: Seen = brought.every) -> Shelf:
    """All skills; `project` is a trusted folder, whose skills count as far as its person has `seen` them."""
    found: list[Skill | str] = [*_shipped(), *_kept(places.user_place(FOLDER), "user", None)]
    if project is not None and not places.is_home(project):
        root = places.real(project)
        found += _kept(Place(root, (SHARED, FOLDER)), PROJECT, root)
        found += _kept(places.project_place(project).below(FOLDER), PROJECT, root)
    new = [item for item in found if isinstance(item, Skill) and item.source == PROJECT and not seen(_brought(item))]
    skills = {item.name: item for item in found if isinstance(item, Skill) and item not in new}
    problems = [item if isinstance(item, str) else _unread(item) for item in found]
    problems += [f"The skill {skill.name} {NEW}." for skill in new]
    return Shelf(
        dict(sorted(skills.items())), tuple(filter(None, problems)), frozenset(skill.name for skill in new), seen
    )


def _unread(skill: Skill) -> str:
    return f"The header of the skill {skill.name} is not read: {skill.problem}." if skill.problem else ""


def skills_brought(project: Path) -> tuple[Brought, ...]:
    """What of a project's skills its person must have seen: each skill, and the files beside it."""
    found = [skill for skill in read_skills(project).skills.values() if skill.source == PROJECT]
    files = (_brought_beside(skill, name) for skill in found for name in _names_beside(skill))
    looked_at = islice(files, MOST_LOOKED_AT)
    return (*map(_brought, found), *(item for item in looked_at if item is not None))


def _brought(skill: Skill) -> Brought:
    return brought.of_skill(skill.name, skill.description, skill.text)


def _brought_beside(skill: Skill, name: str) -> Brought | None:
    try:
        return brought.of_skill_file(skill.name, *_file_beside(skill, name))
    except UnknownSkill:
        return None


def list_skills(project: Path | None) -> tuple[Skill, ...]:
    """All skills, by name."""
    return tuple(read_skills(project).skills.values())


def read_skill(name: str, project: Path | None) -> str:
    """What the model is given when it loads a skill. Raises UnknownSkill."""
    return read_skills(project).text(name)


@cache
def _shipped() -> tuple[Skill, ...]:
    """Read once: they are the program's own, and each ask needs them."""
    entries = files("llamagent_server").joinpath(FOLDER).iterdir()
    found = (file for file in entries if file.name.endswith(".md"))
    return tuple(_skill(file.name.removesuffix(".md"), "shipped", file.read_text("utf-8")) for file in found)


def _kept(place: Place, source: str, fence: Path | None) -> Iterator[Skill | str]:
    """The skills in a folder, and why some files there are none. Links that lead out of `fence` are not followed."""
    if fence is not None and (reason := places.obstacle(place)) is not None:
        yield f"The project's skills are not read: {reason}."
        return
    try:
        names = sorted(places.names(place))
    except OSError as error:
        yield f"{place.path} cannot be read ({places.words(error)})."
        return
    if len(names) > MOST_SKILLS:
        yield f"Of {place.path} only the first {MOST_SKILLS} entries are read."
    for entry in names[:MOST_SKILLS]:
        name = entry.removesuffix(".md")
        path = place.path / entry if entry.endswith(".md") else place.path / entry / NESTED
        if _NAME.fullmatch(name) and is_there(path):
            yield _read(name, source, path, fence)


def _read(name: str, source: str, path: Path, fence: Path | None) -> Skill | str:
    target = places.real(path)
    if fence is not None and not target.is_relative_to(fence):
        return f"The skill {path} is not read: it is a link that leads out of the project."
    try:
        data = places.read(Place(target.parent), target.name, MAX_BYTES + 1)
    except OSError as error:
        return f"The skill {path} cannot be read ({places.words(error)})."
    if len(data) > MAX_BYTES:
        return f"The skill {path} is not read: it is larger than {MAX_BYTES // 1024} KB."
    try:
        return _skill(name, source, data.decode("utf-8-sig"), target.parent if path.name == NESTED else None)
    except UnicodeDecodeError:
        return f"The skill {path} is not read: it is not encoded in UTF-8."


def _names_beside(skill: Skill) -> list[str]:
    """The files beside a skill, by their paths there."""
    if skill.folder is None:
        return []
    found, folders, looked_at = [], [skill.folder], 0
    while folders and looked_at < MOST_LOOKED_AT:
        folder = folders.pop()
        for path in _entries(folder, MOST_LOOKED_AT - looked_at):
            looked_at += 1
            if is_link(path):
                continue
            if is_file(path):
                found.append(path.relative_to(skill.folder).as_posix())
            elif len(folder.relative_to(skill.folder).parts) < DEEPEST:
                folders.append(path)
    return sorted(name for name in found if name != NESTED)


def _entries(folder: Path, most: int) -> list[Path]:
    """The first of what is in a folder; nothing of one that cannot be read, or is none."""
    try:
        with os.scandir(folder) as listed:
            return [Path(entry.path) for entry in islice(listed, most)]
    except OSError:
        return []


def _listed(skill: Skill) -> list[str]:
    """The files beside a skill, as load_skill takes them."""
    return [f"{skill.name}/{name}" for name in _names_beside(skill)[:MOST_FILES]]


def _file_beside(skill: Skill, path: str) -> tuple[str, str]:
    """The path in the skill's folder, and the text. Raises UnknownSkill."""
    target = None if skill.folder is None else places.real(skill.folder / path)
    if skill.folder is None or target is None or not target.is_relative_to(skill.folder):
        raise UnknownSkill(f"The skill {skill.name} has no file {path}.")
    name = target.relative_to(skill.folder).as_posix()
    try:
        data = places.read(Place(target.parent), target.name, MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        hint = f"Its files: {', '.join(_listed(skill)) or 'none'}."
        raise UnknownSkill(f"The skill {skill.name} has no text file {path}.", hint=hint) from None
    return name, text if len(data) <= MAX_BYTES else f"{text[:MAX_BYTES]}\n[cut here]"


def _skill(name: str, source: str, content: str, folder: Path | None = None) -> Skill:
    yaml, text = split(content)
    header = read(yaml or "")
    described = header.text("description") or next((line.strip("# ") for line in text.splitlines() if line.strip()), "")
    line = " ".join(described.split())
    short = line if len(line) <= SHOWN_CHARS else line[: SHOWN_CHARS - 1] + "…"
    return Skill(name, short, source, text.strip(), folder, header.problem)
