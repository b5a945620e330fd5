"""Sums are numbers, with and without wrapping."""

import subprocess

script = """
const { total } = require("./cart.js");
const cases = [
  [[{ price: "2.50", count: 2 }], 5],
  [[{ price: "2.50", count: 2, wrapped: true, wrapping: "1.50" }], 6.5],
  [[{ price: "1", count: 1, wrapped: true, wrapping: "2" }, { price: "1", count: 1 }], 4],
  [[{ price: "1", count: 1, wrapped: false, wrapping: "2" }], 1],
];
for (const [items, right] of cases) {
  const got = total(items);
  if (got !== right) { console.error(`${JSON.stringify(got)} instead of ${right}`); process.exit(1); }
}
"""
done = subprocess.run(["node", "-e", script], capture_output=True, text=True, timeout=60)
assert done.returncode == 0, done.stderr
