"""greet.py prints exactly one greeting."""

import subprocess
import sys

done = subprocess.run([sys.executable, "greet.py"], capture_output=True, text=True, timeout=20)
assert done.returncode == 0, done.stderr
assert done.stdout.strip() == "Hello, Ada!", f"it printed {done.stdout!r}"
