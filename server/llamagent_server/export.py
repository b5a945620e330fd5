"""`llamagent-server export`: a stored conversation on stdout, without a daemon."""

import sys
from pathlib import Path

from llamagent_server.core.exporting import Conversation, document
from llamagent_server.errors import LlamagentError, UnknownSession
from llamagent_server.store.sessions import SessionStore


def export(reference: str, form: str, folder: Path) -> int:
    """0, or 1 where there is no such conversation. `reference` is an id, or a number: 1 is the newest.

    Who names a folder and a conversation in it wants to read it: nothing of it is obeyed, so trust is no question here.
    """
    store = SessionStore(folder, trusted=lambda: True)
    try:
        session = _named(store, reference)
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


def _named(store: SessionStore, reference: str) -> str:
    if not reference.isdecimal():
        return reference
    rows = store.sessions()
    if not 1 <= int(reference) <= len(rows):
        raise UnknownSession(f"There is no conversation number {reference} in this folder: there are {len(rows)}.")
    return rows[int(reference) - 1].id
