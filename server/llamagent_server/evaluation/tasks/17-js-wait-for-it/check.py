"""Everything is written, in order, before it resolves; a failure is a failure."""

import subprocess

script = """
const { copyAll } = require("./copy.js");
const later = (value) => new Promise((done) => setTimeout(() => done(value), 5));
(async () => {
  const written = [];
  const source = { names: async () => ["b", "a", "c"], read: (name) => later(name.toUpperCase()) };
  const target = { write: async (name, record) => { await later(); written.push(name + record); } };
  const count = await copyAll(source, target);
  if (count !== 3 || written.join() !== "bB,aA,cC") throw new Error(`${count} ${written}`);
  let failed = false;
  await copyAll(source, { write: async () => { throw new Error("full"); } }).catch(() => { failed = true; });
  if (!failed) throw new Error("a failing write is not reported");
})().catch((error) => { console.error(error.message); process.exit(1); });
"""
done = subprocess.run(["node", "-e", script], capture_output=True, text=True, timeout=60)
assert done.returncode == 0, done.stderr
