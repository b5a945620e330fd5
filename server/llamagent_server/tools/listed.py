"""A listing as the model is shown it: in little room, and of what is shown only what is really there."""

from llamagent_server.processes.threads import off_loop
from llamagent_server.tools.folding import folded
from llamagent_server.workspace import Listing, ProjectWorkspace


async def listed(workspace: ProjectWorkspace, listing: Listing, room: int) -> tuple[list[str], bool]:
    """Lines in about `room` characters, and whether anything was left out of them."""
    files = listing.files
    short = await off_loop(lambda _: folded(files, room))
    absent = await workspace.absent(listing, [path for _, path in short.rows])
    lines = [line for line, path in short.rows if path not in absent]
    return [*lines, short.more] if short.more else lines, short.left_out
