"""The settings files of the user and of a trusted workspace, read for settings_load."""

from pathlib import Path

from llamagent_server.setting_rules import File
from llamagent_server.settings_load import Problem, Scope, SettingsFile
from llamagent_server.store import places
from llamagent_server.store.places import PROJECT_FOLDER, Place

MAX_BYTES = 64 * 1024


def read_config_files(user: Path, project: Path | None) -> tuple[tuple[SettingsFile, ...], tuple[Problem, ...]]:
    """The files that are there, in the order in which later beats earlier, and why others could not be read.

    `user` is the user's folder of ours (store.places.user_folder), `project` a trusted folder.
    """
    found: list[SettingsFile | Problem | None] = []
    for file in File:
        # The user's own files may be links, as people keep them who have their settings in a repository.
        target = places.real(user / file)
        found.append(_read(Place(target.parent), target.name, f"~/{PROJECT_FOLDER}/{file}", file, Scope.USER))
    if project is not None and not places.is_home(project):
        found.extend(_project_files(project))
    return (
        tuple(item for item in found if isinstance(item, SettingsFile)),
        tuple(item for item in found if isinstance(item, Problem)),
    )


def _project_files(project: Path) -> list[SettingsFile | Problem | None]:
    place = places.project_place(project)
    if (reason := places.obstacle(place)) is not None:
        return [Problem(PROJECT_FOLDER, f"the project's settings are not read: {reason}.")]
    return [_read(place, file, f"{PROJECT_FOLDER}/{file}", file, Scope.WORKSPACE) for file in File]


def _read(place: Place, name: str, shown: str, file: File, scope: Scope) -> SettingsFile | Problem | None:
    try:
        data = places.read(place, name, MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Problem(shown, f"the file cannot be read, so it is ignored ({places.words(error)}).")
    if len(data) > MAX_BYTES:
        return Problem(shown, f"the file is larger than {MAX_BYTES // 1024} KB, so it is ignored.")
    try:
        return SettingsFile(shown, file, scope, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Problem(shown, "the file is not encoded in UTF-8, so it is ignored.", line)
