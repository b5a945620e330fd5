"""The answer names the file and the function."""

from pathlib import Path

answer = Path("_answer.txt").read_text(encoding="utf-8")
assert "levies.py" in answer, f"the file is not named: {answer!r}"
assert "surcharge" in answer, f"the function is not named: {answer!r}"
