"""The person's project: confinement, reads with open documents over the disk, listing and search.

The only room that reads project files. It never writes one.
"""

from llamagent_server.workspace.buffers import Buffers, OpenDocument
from llamagent_server.workspace.confinement import Folder, PathProblem, ProblemKind, Purpose, Resolved
from llamagent_server.workspace.project import FoundLine, Listing, ProjectWorkspace, Search
from llamagent_server.workspace.snapshots import NewFile, Snapshot, Source

__all__ = [
    "Buffers",
    "Folder",
    "FoundLine",
    "Listing",
    "NewFile",
    "OpenDocument",
    "PathProblem",
    "ProblemKind",
    "ProjectWorkspace",
    "Purpose",
    "Resolved",
    "Search",
    "Snapshot",
    "Source",
]
