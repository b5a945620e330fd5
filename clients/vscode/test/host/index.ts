/** Runs the tests of a suite of this folder inside the extension host. */

import { join } from "node:path";

import Mocha from "mocha";

export function run(): Promise<void> {
  const mocha = new Mocha({ ui: "bdd", timeout: 60_000, color: false });
  const words = process.env["LLAMAGENT_TEST_GREP"];
  if (words !== undefined) {
    mocha.grep(words);
  }
  mocha.addFile(join(__dirname, `${process.env["LLAMAGENT_TEST_SUITE"] ?? "suite"}.js`));
  return new Promise((resolve, reject) => {
    mocha.run((failures) => {
      if (failures === 0) {
        resolve();
      } else {
        reject(new Error(`${String(failures)} tests failed`));
      }
    });
  });
}
