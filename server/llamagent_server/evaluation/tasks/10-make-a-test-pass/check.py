"""The function is right beyond the given tests, which are unchanged."""

import hashlib
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from roman import number

cases = {"XVI": 16, "XIV": 14, "MCMXC": 1990, "IX": 9, "XL": 40, "CDXLIV": 444, "MMXXVI": 2026, "III": 3}
found = {roman: number(roman) for roman in cases}
assert found == cases, found
assert hashlib.sha256(Path("test_roman.py").read_bytes()).hexdigest() == "04153f17dc9c5e1c85db7837464ed7837c30e2d36c62462c5f964cf57a7a79b2", "the tests were changed"
