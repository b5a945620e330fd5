"""The three sums."""

from pathlib import Path

lines = Path("totals.txt").read_text(encoding="utf-8").split("\n")
assert [line.strip() for line in lines if line.strip()] == ["books: 19.75", "games: 59.95", "music: 9.99"], lines
