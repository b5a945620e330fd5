"""A workspace edit on files: planned against the bytes on disk, shown, and written only after the yes.

The terminal client is an editor without buffers: what it opens is on disk, and what it applies is saved.
"""

import os
import secrets
import shutil
import stat
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from llamagent_terminal.diff import Diff, diff
from llamagent_terminal.files import inside, name_in
from llamagent_terminal.leftovers import PREFIX, forget, note
from llamagent_terminal.textedit import Encoding, WrongEdit, apply_edits, read_edits

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after, as bytes. `before` None: the file does not exist yet; `after` None: it is removed.
    `target` has no links in it."""

    uri: str
    name: str
    target: Path
    before: bytes | None
    after: bytes | None

    @property
    def diff(self) -> Diff:
        return diff(_text(self.before or b"", self.name), _text(self.after or b"", self.name))


# --- Planning: nothing is written ----------------------------------------------------------------------------------


def plan(edit: Mapping[str, object], root: Path, encoding: Encoding) -> tuple[Change, ...]:
    """What the WorkspaceEdit `edit` (decoded JSON) would do to the files as they are now, under `root` (resolved).

    Raises WrongEdit when it does not fit them, leaves the folder, or asks for more than this client declared.
    """
    changes: dict[Path, Change] = {}
    for operation in _operations(edit):
        change = _planned(operation, changes, root, encoding)
        changes[change.target] = change
    if not changes:
        raise WrongEdit("the edit is empty")
    return tuple(changes.values())


def _operations(edit: Mapping[str, object]) -> list[object]:
    match edit:
        case {"documentChanges": list(operations)}:
            return operations
        case {"changes": dict(changes)}:
            return [{"textDocument": {"uri": uri, "version": None}, "edits": edits} for uri, edits in changes.items()]
    return []


def _planned(operation: object, changes: Mapping[Path, Change], root: Path, encoding: Encoding) -> Change:
    match operation:
        case {"kind": "create", "uri": str(uri), "options": dict(options)}:
            return _created(_current(uri, changes, root), options)
        case {"kind": "create", "uri": str(uri)}:
            return _created(_current(uri, changes, root), {})
        case {"kind": "delete", "uri": str(uri)}:
            return _removed(_current(uri, changes, root), changes)
        case {"kind": kind}:
            raise WrongEdit(f"this client cannot {kind} files")
        case {"textDocument": {"uri": str(uri), "version": int(version)}}:
            raise WrongEdit(f"{uri} is not open here, so there is no version {version} of it")
        case {"textDocument": {"uri": str(uri)}, "edits": list(edits)}:
            change = _current(uri, changes, root)
            if change.before is None and change.target not in changes:
                raise WrongEdit(f"{change.name} does not exist")
            return _edited(change, edits, encoding)
    raise WrongEdit("the edit is of a form that this client does not know")


def _current(uri: str, changes: Mapping[Path, Change], root: Path) -> Change:
    """The file as the operations so far leave it. One that is missing both before and after has no change yet."""
    target = inside(uri, root)
    if (change := changes.get(target)) is not None:
        return change
    name = name_in(target, root)
    before = _read(target, name)
    return Change(uri, name, target, before, before if before is not None else b"")


def _created(change: Change, options: Mapping[str, object]) -> Change:
    """An existing file is never emptied, whatever `overwrite` says."""
    if change.before is not None and not (options.get("ignoreIfExists") and not options.get("overwrite")):
        raise WrongEdit(f"{change.name} exists already")
    return change


def _removed(change: Change, changes: Mapping[Path, Change]) -> Change:
    """Of a file only, and of one that is there: a link or a folder is refused when it is read."""
    if change.before is None or change.target in changes:
        raise WrongEdit(f"{change.name} does not exist")
    return replace(change, after=None)


def _edited(change: Change, edits: list[object], encoding: Encoding) -> Change:
    if change.after is None:
        raise WrongEdit(f"{change.name} is removed by the same edit")
    mark = _BOM if change.after.startswith(_BOM) else b""
    text = _text(change.after, change.name)
    new = apply_edits(text, read_edits(text, edits, encoding))
    try:
        after = mark + new.encode()
    except UnicodeEncodeError as error:
        raise WrongEdit(f"the new text of {change.name} is not valid Unicode") from error
    return Change(change.uri, change.name, change.target, change.before, after)


def _read(target: Path, name: str) -> bytes | None:
    """None when there is no such file. What is no regular file is not even opened."""
    try:
        if not stat.S_ISREG(target.stat().st_mode):
            raise WrongEdit(f"{name} is not a regular file")
        return target.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WrongEdit(f"{name} could not be read: {error.strerror}") from error


def _text(content: bytes, name: str) -> str:
    try:
        return content.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise WrongEdit(f"{name} is not UTF-8 (byte {error.start}), so it is not touched") from error


# --- Performing: after the yes -------------------------------------------------------------------------------------


def perform(changes: tuple[Change, ...], root: Path) -> None:
    """Write all `changes`, or none. Raises WrongEdit when a file is not as it was planned on, or cannot be written.

    Each file is replaced whole by a finished copy beside it, so that nobody ever reads half of one.
    """
    try:
        with ExitStack() as undo:
            staged = [(change, _stage(change, root, undo)) for change in changes]
            for change, copy in staged:
                _put(change, copy, root, undo)
            undo.pop_all()
        for change, copy in staged:
            if change.after is None:
                copy.unlink()
            forget(copy)
    except OSError as error:
        name = error.filename2 or error.filename or "a file"
        raise WrongEdit(f"{name} could not be written: {error.strerror}") from error


def _stage(change: Change, root: Path, undo: ExitStack) -> Path:
    """The finished new content in a file beside the target (of one that is to be removed, what it is now). New folders
    are made here."""
    _require_same(change, root)
    if change.before is not None and _is_read_only(change.target):
        raise WrongEdit(f"{change.name} is read-only")
    _make_folders(change.target.parent, undo)
    content = change.before if change.after is None else change.after
    copy = _copy_beside(change.target, content or b"", undo)
    if change.before is not None:
        _take_over(change.target, copy)
    return copy


def _is_read_only(target: Path) -> bool:
    """Nobody may write it, or not this person. Root may all the same, but whoever took the permission meant it."""
    writers = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
    return not target.stat().st_mode & writers or not os.access(target, os.W_OK)


def _put(change: Change, copy: Path, root: Path, undo: ExitStack) -> None:
    """Move the finished copy to its place; `undo` learns how to take it back."""
    _require_same(change, root)
    if change.after is None:
        change.target.unlink()
        undo.callback(copy.replace, change.target)
        _sync_folder(change.target.parent)
        return
    if change.before is None:
        # Reserved first: a file that somebody else creates at this moment is found, not replaced.
        os.close(os.open(change.target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        undo.callback(change.target.unlink, missing_ok=True)
        shutil.copymode(change.target, copy)
    copy.replace(change.target)
    if change.before is not None:
        undo.callback(_put_back, change)
    _sync_folder(change.target.parent)


def _put_back(change: Change) -> None:
    """Another file of the same edit could not be written: this one gets its old bytes again."""
    if change.before is None or change.target.read_bytes() != change.after:
        return
    with ExitStack() as cleanup:
        copy = _copy_beside(change.target, change.before, cleanup)
        _take_over(change.target, copy)
        copy.replace(change.target)


def _copy_beside(target: Path, content: bytes, cleanup: ExitStack) -> Path:
    """A file with `content` in the folder of `target`, safe on disk; `cleanup` removes it unless it was moved away."""
    copy = target.parent / f"{PREFIX}{secrets.token_hex(8)}"
    note(copy)
    cleanup.callback(forget, copy)
    handle = os.open(copy, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o600)
    cleanup.callback(copy.unlink, missing_ok=True)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return copy


def _require_same(change: Change, root: Path) -> None:
    if inside(change.uri, root) != change.target or _read(change.target, change.name) != change.before:
        raise WrongEdit(f"{change.name} changed on disk since the diff was shown")
    if change.before is None and os.path.lexists(change.target):
        raise WrongEdit(f"{change.name} exists already")


def _make_folders(folder: Path, undo: ExitStack) -> None:
    if folder.is_dir():
        return
    _make_folders(folder.parent, undo)
    folder.mkdir()
    undo.callback(_remove_folder, folder)


def _remove_folder(folder: Path) -> None:
    with suppress(OSError):  # somebody put a file there meanwhile: then it stays
        folder.rmdir()


def _take_over(old: Path, new: Path) -> None:
    """Give `new` the mode, the owner and the extended attributes of `old`, but not its times."""
    shutil.copystat(old, new)
    os.utime(new)
    if sys.platform != "win32":
        was, now = old.stat(), new.stat()
        if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
            os.chown(new, was.st_uid, was.st_gid)
            new.chmod(stat.S_IMODE(was.st_mode))  # a change of owner clears set-user-ID bits


def _sync_folder(folder: Path) -> None:
    """So that a power cut cannot undo the rename. Windows has no such call, and needs none."""
    if sys.platform != "win32":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
