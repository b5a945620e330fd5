"""`python -m llamagent_server` is `llamagent-server`."""

import sys

from llamagent_server.cli import main

sys.exit(main())
