"""Where a path leads: the shared cases, the nasty names, and that nothing outside is ever opened."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llamagent_server.core.unseen import shown
from llamagent_server.workspace import Folder, PathProblem, ProblemKind, Purpose, Resolved
from llamagent_server.workspace.confinement import resolve, unique_names
from llamagent_server.workspace.names import protected
from tests.workspace.projects import Project

unix = pytest.mark.skipif(os.name == "nt", reason="only on Unix")


def make(root: Path, step: Mapping[str, str]) -> None:
    kind = next(kind for kind in ("file", "dir", "symlink", "fifo") if kind in step)
    path = Path(os.path.normpath(root / step[kind]))
    path.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "file":
            path.write_text(step["text"], encoding="utf-8", newline="")
        case "dir":
            path.mkdir(parents=True, exist_ok=True)
        case "symlink":
            path.symlink_to(step["to"].replace("${ROOT}", str(root)))
        case "fifo":
            os.mkfifo(path)


def folder(root: Path) -> Folder:
    return Folder(root.name, root, root.as_uri())


@unix
@pytest.mark.cases("paths.jsonl")
async def test_a_path_leads_where_the_case_says(case, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    project = Project(tmp_path)
    for step in case["setup"]:
        make(project.root, step)
    before = sorted(tmp_path.rglob("*"))

    path = case["path"].replace("${ROOT}", str(project.root))
    found = resolve(path, Purpose(case["op"]), project.folders)

    if "inside" in case["expect"]:
        assert isinstance(found, Resolved), (found, case["why"])
        assert "/".join(found.parts) == case["expect"]["inside"], case["why"]
    else:
        assert isinstance(found, PathProblem), (found, case["why"])
        assert found.kind == next(iter(case["expect"])), case["why"]
        assert found.message
    assert sorted(tmp_path.rglob("*")) == before
    if case["op"] == "read":
        text = await project.workspace.read(path)
        assert isinstance(text, PathProblem) == isinstance(found, PathProblem), case["why"]


REFUSED = [
    ("../x", Purpose.READ),
    ("..", Purpose.LIST),
    ("a/../../x", Purpose.READ),
    ("/", Purpose.LIST),
    ("/etc/passwd", Purpose.READ),
    ("//etc/passwd", Purpose.READ),
    ("~", Purpose.LIST),
    ("~/x", Purpose.WRITE),
    ("file:///etc/passwd", Purpose.READ),
    ("file://host/etc/passwd", Purpose.READ),
    ("file:///%00", Purpose.READ),
    ("FILE:///etc/passwd", Purpose.READ),
    ("C:\\Windows\\win.ini", Purpose.READ),
    ("c:/x", Purpose.WRITE),
    ("a\\b.txt", Purpose.WRITE),
    ("..\\..\\x", Purpose.READ),
    ("a\0b", Purpose.READ),
    ("\ud800", Purpose.READ),
    ("   ", Purpose.READ),
    (".", Purpose.READ),
    ("new/", Purpose.WRITE),
    ("here.txt/", Purpose.READ),
    ("here.txt/below", Purpose.WRITE),
    ("here.txt", Purpose.LIST),
    ("x/" * 5000 + "y", Purpose.WRITE),
    ("é" * 200, Purpose.WRITE),
    ("loop", Purpose.READ),
    ("loop/x", Purpose.WRITE),
    ("up/secret.txt", Purpose.READ),
    ("up", Purpose.LIST),
    ("null", Purpose.READ),
    ("inner/up2/secret.txt", Purpose.READ),
    ("through/proj-evil/secret.txt", Purpose.READ),
]


@unix
@pytest.mark.parametrize(("path", "purpose"), REFUSED, ids=[f"{p[:20]!r}-{o}" for p, o in REFUSED])
def test_a_path_out_or_to_nothing_ordinary_is_refused(path: str, purpose: Purpose, tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("here.txt", "here")
    project.write("inner/x", "x")
    (tmp_path / "proj-evil").mkdir()
    (tmp_path / "proj-evil/secret.txt").write_text("secret")
    for link, target in {
        "loop": "loop",
        "up": "../proj-evil",
        "null": "/dev/null",
        "inner/up2": "../up",
        "through": "..",
    }.items():
        (project.root / link).symlink_to(target)
    found = resolve(path, purpose, project.folders)
    assert isinstance(found, PathProblem)
    assert found.kind is ProblemKind.REFUSED
    assert len(found.message) < 400


@unix
def test_links_that_stay_inside_are_followed_to_the_file_that_is_meant(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("real/a.txt", "a")
    (project.root / "link").symlink_to("real")
    (project.root / "round").symlink_to("../proj/real/a.txt")
    (project.root / "absolute").symlink_to(project.root / "real/a.txt")
    for path in ("link/a.txt", "round", "absolute", f"{project.root}/link/../real/a.txt", project.uri("link/a.txt")):
        found = resolve(path, Purpose.READ, project.folders)
        assert isinstance(found, Resolved), path
        assert found.path == "real/a.txt"


@unix
def test_a_workspace_that_is_itself_a_link_keeps_the_editors_spelling(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("a b.txt", "a")
    alias = tmp_path / "alias"
    alias.symlink_to(project.root)
    found = resolve("a b.txt", Purpose.READ, [Folder("alias", alias, alias.as_uri())])
    assert isinstance(found, Resolved)
    assert found.uri == f"{alias.as_uri()}/a%20b.txt"
    assert isinstance(resolve(f"{alias}/a b.txt", Purpose.READ, [folder(alias)]), Resolved)


PROTECTED = [
    ".git/config", ".GIT/hooks/x", "sub/.git/config", ".Git\u200c/config", ".git./config", ".git /config",
    "git~1/config", ".git::$INDEX_ALLOCATION/config", ".vscode/tasks.json", ".VSCode/settings.json", ".envrc",
    ".llamagent/server.toml", "sub/.ENVRC", ".exrc", ".nvim.lua", ".idea/x", "a.code-workspace", ".dir-locals.el",
    "\uff0egit/config", ".hg/hgrc", "hooks/pre-commit", "bare/hooks/post-update", "./bare/new",
    ".github/workflows/ci.yml", "sub/.GitHub/Workflows/x.yml", ".husky/pre-commit", ".devcontainer/devcontainer.json",
    ".forgejo/workflows/x.yml", ".gitea/workflows/x.yml",
]  # fmt: skip


@unix
@pytest.mark.parametrize("path", PROTECTED)
def test_what_runs_code_or_changes_trust_is_never_written(path: str, tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(".git/hooks/sample", "")
    (project.root / "hooks").symlink_to(".git/hooks")
    project.write("bare/HEAD", "ref: refs/heads/main")
    project.write("bare/objects/x", "")
    project.write("bare/refs/x", "")
    found = resolve(path, Purpose.WRITE, project.folders)
    assert isinstance(found, PathProblem)
    assert found.kind is ProblemKind.REFUSED


@pytest.mark.parametrize(
    "path", [".gitignore", ".github/CODEOWNERS", "workflows/ci.yml", "git/config", ".env.example", "x.git.py"]
)
def test_a_name_that_only_looks_alike_may_be_written(path: str, tmp_path: Path) -> None:
    assert isinstance(resolve(path, Purpose.WRITE, Project(tmp_path).folders), Resolved)


def test_a_workspace_inside_a_protected_folder_is_not_protected_itself(tmp_path: Path) -> None:
    project = Project(tmp_path, folders=[".claude/proj"])
    for path in ("new.py", f"{project.root}/new.py"):
        assert isinstance(resolve(path, Purpose.WRITE, project.folders), Resolved)


def test_with_several_folders_a_path_begins_with_a_name(tmp_path: Path) -> None:
    project = Project(tmp_path, folders=["one", "two"])
    (tmp_path / "two/a.txt").write_text("a")
    for path in ("two/a.txt", "./two//a.txt", str(tmp_path / "two/a.txt"), (tmp_path / "two/a.txt").as_uri()):
        found = resolve(path, Purpose.READ, project.folders)
        assert isinstance(found, Resolved), path
        assert (found.path, found.uri) == ("two/a.txt", (project.parent / "two/a.txt").as_uri())
    for path in ("a.txt", "three/a.txt", "one/../two/a.txt", "."):
        assert isinstance(resolve(path, Purpose.READ, project.folders), PathProblem), path
    assert isinstance(resolve("two", Purpose.LIST, project.folders), Resolved)


def test_folders_of_one_name_get_different_ones(tmp_path: Path) -> None:
    twice = [Folder("app", tmp_path / "a", "x"), Folder("app", tmp_path / "b", "y")]
    named = unique_names([*twice, Folder("", tmp_path, "z")])
    assert [one.name for one in named] == ["app", "app-2", tmp_path.name]


def test_without_a_folder_no_path_leads_anywhere() -> None:
    assert isinstance(resolve("a.txt", Purpose.READ, ()), PathProblem)
    assert isinstance(resolve("/etc/passwd", Purpose.READ, ()), PathProblem)


def test_a_name_with_escapes_is_shown_harmless() -> None:
    assert shown("a\x1b[31m\n\u202eb\udce9") == "a\\x1b[31m\\n\\u202eb\\udce9"
    assert shown("caf\u00e9 \U0001f680.txt") == "caf\u00e9 \U0001f680.txt"


@given(st.text(max_size=30))
def test_no_text_makes_resolving_fail(path: str) -> None:
    for purpose in Purpose:
        resolve(path, purpose, [Folder("tmp", Path("/nonexistent/root"), "file:///nonexistent/root")])
    protected(path.split("/"))


SECRET = "SECRET"
names = st.sampled_from(["a", "b", "c", "d"])
targets = st.sampled_from(
    "a b/c .. ../.. ../out ../proj/a ../proj-evil/s / . ../../.. b a/../.. loop d/../../out/s".split()
)
trees = st.lists(st.tuples(names, names, st.sampled_from(["file", "link", "linkdir", "dir"]), targets), max_size=8)
hops = st.lists(st.sampled_from(["a", "b", "c", "d", "..", ".", "", "out", "proj", "s", "proj-evil"]), max_size=6)


@unix
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(trees, hops, st.booleans())
async def test_nothing_outside_is_ever_read_whatever_links_there_are(
    tmp_path_factory: pytest.TempPathFactory,
    tree: list[tuple[str, str, str, str]],
    hops: list[str],
    absolute: bool,
) -> None:
    project = Project(tmp_path_factory.mktemp("tree"))
    for outside in ("out/s", "s", "proj-evil/s", "out/a", "a"):
        path = project.parent / outside
        path.parent.mkdir(exist_ok=True)
        path.write_text(SECRET)
    for where, name, kind, target in tree:
        path = project.root / where / name if kind != "linkdir" else project.root / where
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "file":
                path.write_text("inside") if not path.is_symlink() else None
            elif kind == "dir":
                path.mkdir()
            else:
                path.symlink_to(target)
        except OSError:
            continue
    outside_before = _outside(project)
    given = "/".join([str(project.root), *hops] if absolute else hops)
    for purpose in Purpose:
        found = resolve(given, purpose, project.folders)
        if isinstance(found, Resolved):
            assert Path(os.path.realpath(found.real)).is_relative_to(project.root)
    read = await project.workspace.read(given)
    assert SECRET not in str(read)
    edit = await project.workspace.read_for_edit(given)
    assert SECRET not in str(edit)
    assert _outside(project) == outside_before


def _outside(project: Project) -> dict[Path, int]:
    paths = project.parent.glob("*/*")
    return {path: path.lstat().st_mtime_ns for path in paths if project.root not in path.parents}


@pytest.mark.parametrize(
    "path", ["AGENTS.md", ".git/hooks/pre-commit", "src/.llamagent/config.toml", "../.llamagent/x"]
)
def test_setting_up_leads_into_our_own_folder_only(tmp_path: Path, path: str) -> None:
    found = resolve(path, Purpose.SET_UP, [folder(tmp_path)])
    assert isinstance(found, PathProblem)
    assert found.kind is ProblemKind.REFUSED
    ours = resolve(".llamagent/config.toml", Purpose.SET_UP, [folder(tmp_path)])
    assert isinstance(ours, Resolved) and not ours.exists


@unix
def test_setting_up_follows_no_link_out_of_our_own_folder(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / ".llamagent").symlink_to("src")
    assert isinstance(resolve(".llamagent/config.toml", Purpose.SET_UP, [folder(tmp_path)]), PathProblem)
