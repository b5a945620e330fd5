"""The old name is gone, the new one works everywhere."""

import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from shop import invoice, prices, report

assert prices.total_price([(2, 3), (5, 1)]) == 11
assert not hasattr(prices, "calc"), "the old name still exists"
assert invoice.invoice([(2, 3)]) == "To pay: 6"
assert report.biggest([[(1, 1)], [(9, 9)]]) == [(9, 9)]
left = [str(path) for path in Path("shop").glob("*.py") if re.search(r"\bcalc\(", path.read_text(encoding="utf-8"))]
assert not left, f"calc is still called in {left}"
