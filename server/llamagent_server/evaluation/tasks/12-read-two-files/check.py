"""The port that is in force, and not the one that is overridden."""

import re
from pathlib import Path

answer = Path("_answer.txt").read_text(encoding="utf-8")
numbers = re.findall(r"\d+", answer)
assert "8443" in numbers, f"the port is not in the answer: {answer!r}"
