"""`llamagent-server export`: a stored conversation on stdout, without a daemon."""

import sys
from datetime import datetime
from pathlib import Path

from llamagent_server.app.reports import meant
from llamagent_server.core.exporting import Conversation, document
from llamagent_server.core.unseen import shown
from llamagent_server.errors import LlamagentError
from llamagent_server.store.sessions import SessionStore


def export(reference: str | None, form: str, folder: Path) -> int:
    """0, or 1 where there is no such conversation. `reference` is an id, or a number: 1 is the newest; without one
    the choices are listed.

    Who names a folder and a conversation in it wants to read it: nothing of it is obeyed, so trust is no question here.
    """
    store = SessionStore(folder, trusted=lambda: True)
    if reference is None:
        return _list(store)
    try:
        session = meant([row.id for row in store.sessions()], reference)
        stored = store.read(session)
    except LlamagentError as error:
        sys.stderr.write(f"llamagent-server: {error}\n")
        return 1
    if stored.problem is not None:
        sys.stderr.write(f"llamagent-server: {stored.problem}\n")
    text = document(Conversation(session, stored.title, stored.records), form)
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.flush()
    return 0


def _list(store: SessionStore) -> int:
    rows = store.sessions()
    for number, row in enumerate(rows, 1):
        when = datetime.fromisoformat(row.updated).astimezone()  # the person's own time
        sys.stdout.write(f"{number:>3}  {when:%Y-%m-%d %H:%M}  {shown(row.title or row.id)}\n")
    sys.stderr.write("llamagent-server: name one by its number: llamagent-server export 1\n" if rows else "")
    if not rows:
        sys.stderr.write("llamagent-server: no conversation is stored for this folder\n")
    return 0 if rows else 1
