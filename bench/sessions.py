"""How long listing 200 stored conversations takes, the first time and again: `python -m bench.sessions`."""

import os
import sys
import tempfile
from pathlib import Path

from bench.harness import measure, options, report
from llamagent_server.core.messages import AssistantMessage, ToolMessage, UserMessage
from llamagent_server.core.records import event_record, message_record, session_record
from llamagent_server.store.sessions import SessionStore

SESSIONS = 200
TURNS = 10
TEXT = "def greet(name):\n    return f'Good day, {name}'\n" * 40


def fill(store: SessionStore) -> None:
    """Conversations of about 100 KB, as ten turns with two tool calls each make them."""
    for _ in range(SESSIONS):
        journal = store.create(lambda session: session_record(session, "2026-01-01T00:00:00Z", "qwen3.5:4b"))
        for turn in range(TURNS):
            journal.append(message_record(UserMessage(f"Make the greeting polite, {turn}")))
            for step in range(2):
                journal.append(message_record(ToolMessage(f"call-{step}", "read_file", TEXT)))
                journal.append(event_record({"seq": step, "kind": "tool.returned", "content": TEXT}))
            journal.append(message_record(AssistantMessage("Done.")))


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LLAMAGENT_HOME"] = str(Path(folder) / "home")
        project = Path(folder)
        fill(SessionStore(project, trusted=lambda: True))
        known = SessionStore(project, trusted=lambda: True)
        figures = [
            measure("first", "ms", lambda: SessionStore(project, trusted=lambda: True).sessions(), times=30),
            measure("again", "ms", known.sessions, times=30),
        ]
        return report("sessions", figures, limits={"first": 50.0, "again": 50.0})


if __name__ == "__main__":
    options(__doc__).parse_args()
    sys.exit(main())
