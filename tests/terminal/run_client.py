"""The terminal client as a process of its own.

    python run_client.py FOLDER SCRIPT ask TEXT [--yes|--no|--json|...]    against the fake daemon that plays SCRIPT
    python run_client.py FOLDER SCRIPT chat
    python run_client.py FOLDER - ARGUMENTS...                             `llamagent-server ARGUMENTS` as it is

With RUN_CLIENT_TTY set, its stdin becomes its controlling terminal first, so that ^C is a signal.
"""

import os
import sys
from pathlib import Path

FAKE_DAEMON = Path(__file__).with_name("fake_daemon.py")


def main() -> int:
    folder, script, *arguments = sys.argv[1:]
    if os.environ.get("RUN_CLIENT_TTY"):
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(folder)
    if script == "-":
        from llamagent_server.cli import main as cli

        return cli(arguments)
    return _with_fake(Path(folder), script, arguments)


def _with_fake(folder: Path, script: str, arguments: list[str]) -> int:
    from llamagent_terminal.ask import ask
    from llamagent_terminal.chat import chat
    from llamagent_terminal.options import Consent, Options

    options = Options(
        folder=folder.resolve(),
        daemon=(sys.executable, str(FAKE_DAEMON), script),
        consent=Consent.YES if "--yes" in arguments else Consent.NO if "--no" in arguments else Consent.ASK,
        read_only="--read" in arguments,
        json="--json" in arguments,
    )
    return chat(options) if arguments[0] == "chat" else ask(arguments[1], options)


if __name__ == "__main__":
    sys.exit(main())
