"""The one misspelled heading is right, and every other byte is as it was."""

from pathlib import Path

ORIGINAL = b"""# Weather station

Reads three sensors and keeps a day of values.

## Instalation

Copy `station.toml` to the device and start the service.

## Use

`station read` prints the newest values. For the installation on a roof see docs/roof.md.
"""
text = Path("README.md").read_bytes()
assert b"## Installation\n" in text, "the heading is still wrong"
assert text.replace(b"## Installation\n", b"## Instalation\n") == ORIGINAL, "something else was changed"
