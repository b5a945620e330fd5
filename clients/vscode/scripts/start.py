"""Starts the daemon of this extension with the libraries that came along, whatever the Python has of its own."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The environment is left alone: the commands that the daemon runs must not find these libraries.
sys.path[:0] = [str(HERE / "server"), str(HERE / "libs")]
sys.dont_write_bytecode = True  # the extension's folder stays as it was installed

from llamagent_server.cli import main  # noqa: E402  needs the path above

if __name__ == "__main__":
    sys.exit(main())
