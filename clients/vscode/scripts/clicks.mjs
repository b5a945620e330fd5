/** The click tests, once or many times over: `npm run clicks -- [--times 20] [--grep WORDS]`. Ends with 1 where one failed. */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { times: { type: "string", default: "1" }, grep: { type: "string" } } });
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) {
  throw new Error(`--times takes a whole number, 1 or more, not ${values.times}`);
}

run("node", ["esbuild.mjs", "--tests"]);
const mocha = ["mocha", "--forbid-only", "--forbid-pending", "--fail-zero", "--timeout", "300000"];
const which = values.grep === undefined ? [] : ["--grep", values.grep];
const results = [];
for (let count = 1; count <= times; count += 1) {
  const begun = Date.now();
  const ok = run("npx", [...mocha, ...which, "test-out/clicks/suite.js"]) === 0;
  results.push(ok);
  const failed = results.filter((passed) => !passed).length;
  const seconds = Math.round((Date.now() - begun) / 1000);
  console.log(`run ${count} of ${times}: ${ok ? "passed" : "FAILED"} in ${seconds} s; ${failed} of ${count} failed`);
}
process.exit(results.every(Boolean) ? 0 : 1);

function run(command, given) {
  return spawnSync(command, given, { stdio: "inherit" }).status;
}
