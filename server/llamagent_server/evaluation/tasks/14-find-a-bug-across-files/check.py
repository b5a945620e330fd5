"""The cause is mended where it is, and a test in test_orders.py notices when it comes back."""

import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from store.money import cents
from store.orders import total

prices = {"12.5": 1250, "12.50": 1250, "12.05": 1205, "12": 1200, "0.9": 90, "12.34": 1234}
found = {price: cents(price) for price in prices}
assert found == prices, found
assert total({"customer": "silver", "items": [{"price": "12.5", "count": 2}]}) == 2375


def passes():
    command = [sys.executable, "-B", "-m", "unittest", "test_orders"]
    return subprocess.run(command, capture_output=True, timeout=60).returncode == 0


assert passes(), "the tests fail"
Path("store/money.py").write_text(
    'def cents(price):\n    whole, _, rest = price.partition(".")\n    return int(whole) * 100 + int(rest or 0)\n',
    encoding="utf-8",
)
assert not passes(), "no test notices the bug"
