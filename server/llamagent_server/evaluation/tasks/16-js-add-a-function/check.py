"""chunk cuts as it should, and last is still there."""

import subprocess

script = """
const { chunk, last } = require("./lists.js");
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const ok =
  same(chunk([1, 2, 3, 4, 5], 2), [[1, 2], [3, 4], [5]]) &&
  same(chunk([1, 2], 2), [[1, 2]]) &&
  same(chunk([], 3), []) &&
  last([1, 2]) === 2;
if (!ok) { console.error(JSON.stringify(chunk([1, 2, 3, 4, 5], 2))); process.exit(1); }
"""
done = subprocess.run(["node", "-e", script], capture_output=True, text=True, timeout=60)
assert done.returncode == 0, done.stderr
