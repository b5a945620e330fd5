/** The pages that go into the package: the licence, and the README without its pictures, which stay in the project. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

copyFileSync("../../LICENSE", "LICENSE");
mkdirSync("dist", { recursive: true });
const readme = readFileSync("README.md", "utf8").replace(/<!-- pictures -->[\s\S]*?<!-- end -->\n+/g, "");
if (readme.includes("](../")) {
  throw new Error(
    "README.md leads out of the package: put what is for the project only between <!-- pictures --> and <!-- end -->",
  );
}
writeFileSync("dist/README.md", readme);
