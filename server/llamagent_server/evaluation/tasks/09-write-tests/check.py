"""The tests pass on the right function and fail on each of three wrong ones."""

import subprocess
import sys
from pathlib import Path

right = Path("slug.py").read_text(encoding="utf-8")


def passes(text):
    Path("slug.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-B", "-m", "unittest", "test_slug"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode == 0 and "Ran 0 tests" not in done.stderr


assert Path("test_slug.py").is_file(), "there is no test_slug.py"
assert passes(right), "the tests fail on the right function"
wrong = {
    "no lower case": right.replace("title.lower()", "title").replace("a-z0-9", "A-Za-z0-9"),
    "several hyphens": right.replace('"-".join(words)', 're.sub(r"[^a-z0-9]", "-", title.lower()).strip("-")'),
    "empty stays empty": right.replace(' or "untitled"', ""),
}
for name, text in wrong.items():
    assert text != right, "slug.py was changed"
    assert not passes(text), f"no test notices: {name}"
