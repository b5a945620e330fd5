"""The environment of the programs that the benchmarks compare with is made whole again where it leads nowhere."""

import subprocess
import zipfile
from pathlib import Path

import pytest

from bench import peers


def wheel(folder: Path) -> Path:
    """A package with one program that says "hello": no index is asked for it."""
    path = folder / "hello-1-py3-none-any.whl"
    info = "hello-1.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.py", "def main():\n    print('hello')\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: hello\nVersion: 1\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", "[console_scripts]\nhello = hello:main\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def said(program: str) -> str:
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def test_an_environment_whose_checkout_is_gone_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "REQUIREMENTS", (str(wheel(tmp_path)),))
    monkeypatch.setattr(peers, "PLACE", tmp_path / "gone" / "bench")
    assert said(peers.peer("hello")) == "hello\n"
    (tmp_path / "gone").rename(tmp_path / "here")
    monkeypatch.setattr(peers, "PLACE", tmp_path / "here" / "bench")
    with pytest.raises(FileNotFoundError):
        said(str(tmp_path / "here" / "bench" / "bin" / "hello"))
    assert said(peers.peer("hello")) == "hello\n"
    made = (tmp_path / "here" / "bench" / "ready").stat().st_mtime_ns
    peers.peer("hello")
    assert (tmp_path / "here" / "bench" / "ready").stat().st_mtime_ns == made, "it is made anew each time"


def test_peers_that_cannot_be_installed_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "REQUIREMENTS", (str(tmp_path / "no-such-1-py3-none-any.whl"),))
    monkeypatch.setattr(peers, "PLACE", tmp_path / "bench")
    with pytest.raises(SystemExit, match="cannot be installed into"):
        peers.peer("hello")
    assert not (tmp_path / "bench" / "ready").exists()
