"""`make` finds what it needs on the machine, or says what to install."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SETUP = Path(__file__).parent.parent / "scripts" / "setup.sh"
TOO_OLD = "#!/bin/sh\nexit 1\n"
# A Python as Debian has it without the package python3-venv.
WITHOUT_VENV = f"""#!/bin/sh
case "$*" in *ensurepip*) exit 1;; esac
exec {sys.executable} "$@"
"""
UV = """#!/bin/sh
echo "uv was asked: $*"
exit 7
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="only on Unix: a shell script")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "head", "ls"):
        (folder / name).symlink_to(f"/bin/{name}" if Path(f"/bin/{name}").exists() else f"/usr/bin/{name}")
    return folder


def add(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(script)
    (folder / name).chmod(0o755)


def set_up(programs: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    plain = {"PATH": str(programs), "HOME": str(programs)}
    return subprocess.run(
        ["/bin/sh", str(SETUP), ".venv", "dev"],
        cwd=programs.parent,
        env=plain | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_python_it_says_which_is_needed(programs: Path) -> None:
    add(programs, "python3", TOO_OLD)
    done = set_up(programs)
    assert done.returncode == 1 and "Python 3.11 or newer is needed" in done.stderr


def test_without_the_venv_module_it_names_the_fix(programs: Path) -> None:
    add(programs, "python3", WITHOUT_VENV)
    done = set_up(programs)
    assert done.returncode == 1
    assert "apt install python3-venv" in done.stderr and "uv" in done.stderr
    assert not (programs.parent / ".venv").exists()


def test_without_the_venv_module_uv_is_used_where_it_is(programs: Path) -> None:
    add(programs, "python3", WITHOUT_VENV)
    add(programs, "uv", UV)
    done = set_up(programs)
    assert done.returncode == 7 and "uv was asked: venv" in done.stdout and "--python python3 .venv" in done.stdout


def test_a_python_with_venv_is_preferred_to_a_newer_one_without(programs: Path) -> None:
    add(programs, "python3.14", WITHOUT_VENV)
    add(programs, "uv", UV)
    add(
        programs,
        "python3",
        f'#!/bin/sh\ncase "$*" in *"-m venv"*) echo "made by $0"; exit 9;; esac\nexec {sys.executable} "$@"\n',
    )
    done = set_up(programs)
    assert done.returncode == 9 and "made by" in done.stdout


def test_the_pinned_python_comes_first_and_a_named_one_alone(programs: Path) -> None:
    made = f'#!/bin/sh\ncase "$*" in *"-m venv"*) echo "made by $0"; exit 9;; esac\nexec {sys.executable} "$@"\n'
    for name in ("python3.12", "python3.13", "python3.14"):
        add(programs, name, made)
    (programs.parent / ".python-version").write_text("3.12\n")
    assert "python3.12" in set_up(programs).stdout
    assert "python3.13" in set_up(programs, PYTHON=str(programs / "python3.13")).stdout


def test_a_version_that_pyenv_has_not_selected_is_found(programs: Path) -> None:
    add(programs, "python3", TOO_OLD)
    chosen = programs / ".pyenv" / "versions" / "3.12.1" / "bin"
    chosen.mkdir(parents=True)
    add(chosen, "python3", WITHOUT_VENV)
    assert f"{chosen}/python3 cannot make virtual environments" in set_up(programs).stderr
