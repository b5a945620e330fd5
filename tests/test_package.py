"""The wheel holds both packages and what they read at run time, and nothing else; its metadata asks for little."""

import os
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {
    "llamagent_server": ROOT / "server" / "llamagent_server",
    "llamagent_terminal": ROOT / "clients" / "terminal" / "llamagent_terminal",
}
RUN_TIME = {"pygls", "lsprotocol", "requests", "urllib3", "filelock", "ruamel-yaml"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    assert built.name.endswith("-py3-none-any.whl")
    return zipfile.ZipFile(built)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return message_from_bytes(wheel.read(name))


def test_the_wheel_holds_both_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    expected = {
        f"{package}/{(ROOT / name).relative_to(folder).as_posix()}"
        for name in tracked.splitlines()
        for package, folder in PACKAGES.items()
        if (ROOT / name).is_relative_to(folder)
    }
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert expected - held == set(), "missing"
    untracked = {name for name in held - expected if not name.endswith((".py", ".md"))}
    assert untracked == set(), "not wanted"


@pytest.mark.parametrize(
    "name",
    [
        "llamagent_server/py.typed",
        "llamagent_terminal/py.typed",
        "llamagent_server/prompts/system.md",
        "llamagent_server/lsp/locale/de.po",
        "llamagent_server/lsp/locale/fr.po",
        "llamagent_server/skills/fix-a-bug.md",
        "llamagent_server/skills/write-pytest-tests.md",
    ],
)
def test_what_is_read_at_run_time_is_in_it(wheel: zipfile.ZipFile, name: str) -> None:
    assert name in wheel.namelist()


def test_the_command_starts_the_server(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt"))
    assert "llamagent-server = llamagent_server.cli:main" in wheel.read(name).decode()


def test_an_installed_wheel_runs_from_where_it_was_installed(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path / "site")]
    subprocess.run([*pip, str(wheel.filename)], check=True, capture_output=True)
    script = (
        "import llamagent_server.agent.prompt as p; print(p.__file__); print(p.system_prompt(project='', locale=None))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
        check=True,
        capture_output=True,
        text=True,
    )
    where, _, prompt = done.stdout.partition("\n")
    assert Path(where).is_relative_to(tmp_path) and len(prompt) > 100
    console = next(tmp_path / "site" / folder for folder in ("bin", "Scripts") if (tmp_path / "site" / folder).exists())
    assert [path.stem for path in console.iterdir()] == ["llamagent-server"]


def test_the_licence_goes_along(wheel: zipfile.ZipFile, metadata: Message) -> None:
    assert metadata["License-Expression"] == "MIT"
    assert any(name.endswith("/LICENSE") for name in wheel.namelist())


def test_without_extras_only_what_the_decisions_name_is_asked_for(metadata: Message) -> None:
    asked = metadata.get_all("Requires-Dist", [])
    assert {line.split(">")[0].split("=")[0].split("<")[0] for line in asked if "extra ==" not in line} == RUN_TIME


def test_both_extras_are_offered(metadata: Message) -> None:
    assert set(metadata.get_all("Provides-Extra", [])) == {"embedded", "search"}


@pytest.mark.parametrize("lock", ["dev", "demo"])
def test_each_pinned_package_has_hashes_and_no_host_is_named(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    for requirement in text.replace("\\\n", "").splitlines():
        if requirement.strip() and not requirement.lstrip().startswith("#"):
            assert "==" in requirement and "--hash=sha256:" in requirement, requirement
    assert "://" not in text and "--index" not in text and "--find-links" not in text


def test_what_the_package_asks_for_is_pinned_for_development() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    pinned = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    for requirement in asked:
        name = requirement.split(">")[0]
        assert f"\n{name}==" in pinned, f"{name}: run make lock"


def test_the_version_is_said_once() -> None:
    from llamagent_server import __version__

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == __version__
