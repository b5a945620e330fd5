"""The parameter works, and badge no longer breaks names that have a comma in them."""

import sys

sys.dont_write_bytecode = True
from badge import badge
from names import join_names

assert join_names(["Ada", "Bo"]) == "Ada, Bo"
assert join_names(["Ada", "Bo"], separator=" and ") == "Ada and Bo"
assert badge(["Lovelace, Ada", "Bo"]) == "Lovelace, Ada\nBo", badge(["Lovelace, Ada", "Bo"])
