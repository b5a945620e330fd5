"""One operator changed, every other byte is as it was."""

from pathlib import Path

ORIGINAL = b'def area(width, height):\r\n\t# in square metres\r\n\tif width < 0:\r\n\t\traise ValueError("negative")\r\n\treturn width + height\r\n\r\n\r\ndef edge(width, height):\r\n\treturn 2 * (width + height)\r\n'
right = ORIGINAL.replace(b"return width + height", b"return width * height")
assert Path("shapes.py").read_bytes() == right, Path("shapes.py").read_bytes()
