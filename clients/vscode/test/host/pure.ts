/** The parts that need no editor. */

import * as assert from "node:assert/strict";

import { lineHunks, splitLines } from "../../src/text/linediff";
import { shifted } from "../../src/text/lineshift";
import { merge } from "../../src/text/merge";
import { applyEdits } from "../../src/text/textedit";
import { menuLine, visible } from "../../src/text/visible";

const at = (line: number, character: number): { line: number; character: number } => ({ line, character });

describe("text edits", () => {
  const cases: [string, string, Parameters<typeof applyEdits>[1], string][] = [
    ["nothing", "a\nb\n", [], "a\nb\n"],
    ["a line", "a\nb\n", [{ range: { start: at(1, 0), end: at(2, 0) }, newText: "B\n" }], "a\nB\n"],
    ["behind the end", "a", [{ range: { start: at(9, 0), end: at(9, 0) }, newText: "!" }], "a!"],
    ["behind a line's end", "a\r\nb", [{ range: { start: at(0, 9), end: at(0, 9) }, newText: "!" }], "a!\r\nb"],
    ["UTF-16 units", "😀x", [{ range: { start: at(0, 2), end: at(0, 3) }, newText: "y" }], "😀y"],
    [
      "two insertions at one place, in their order",
      "x",
      [
        { range: { start: at(0, 0), end: at(0, 0) }, newText: "1" },
        { range: { start: at(0, 0), end: at(0, 0) }, newText: "2" },
      ],
      "12x",
    ],
  ];
  for (const [name, text, edits, expected] of cases) {
    it(name, () => assert.equal(applyEdits(text, edits), expected));
  }

  it("refuses edits that overlap", () => {
    const edit = { range: { start: at(0, 0), end: at(0, 2) }, newText: "" };
    assert.throws(() => applyEdits("abc", [edit, { ...edit, range: { start: at(0, 1), end: at(0, 3) } }]));
  });
});

describe("hunks", () => {
  it("give the other text when they are put in", () => {
    let seed = 7;
    const random = (most: number): number => (seed = (seed * 1103515245 + 12345) % 2147483648) % most;
    for (let round = 0; round < 300; round++) {
      const a = Array.from({ length: random(12) }, () => `${"abc"[random(3)] ?? ""}\n`);
      const b = Array.from({ length: random(12) }, () => `${"abc"[random(3)] ?? ""}\n`);
      const out = [...a];
      for (const hunk of lineHunks(a, b).reverse()) {
        out.splice(hunk.aFirst, hunk.aEnd - hunk.aFirst, ...b.slice(hunk.bFirst, hunk.bEnd));
      }
      assert.deepEqual(out, b);
    }
  });

  it("splitting keeps every character", () => {
    for (const text of ["", "a", "a\n", "a\r\nb\rc\n\n"]) {
      assert.equal(splitLines(text).join(""), text);
    }
  });
});

describe("three-way merges", () => {
  const cases: [string, string, string, string, string | null][] = [
    ["only theirs", "a\nb\n", "a\nb\n", "a\nB\n", "a\nB\n"],
    ["only ours", "a\nb\n", "A\nb\n", "a\nb\n", "A\nb\n"],
    ["both, apart", "a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n", "A\nb\nc\nD\n"],
    ["both the same", "a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n", "a\nX\nc\n"],
    ["the same line differently", "a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", null],
    ["lines that touch", "a\nb\n", "A\nb\n", "a\nB\n", null],
    ["insertions at one place", "a\nb\n", "a\n1\nb\n", "a\n2\nb\n", null],
    ["one deletes what the other changed", "a\nb\nc\n", "a\nc\n", "a\nB\nc\n", null],
    ["the same change and one more", "a\nb\nc\nd\n", "X\nb\nc\nd\n", "X\nb\nc\nD\n", "X\nb\nc\nD\n"],
  ];
  for (const [name, base, ours, theirs, expected] of cases) {
    it(name, () => {
      assert.equal(merge(base, ours, theirs), expected);
      assert.equal(merge(base, theirs, ours), expected);
    });
  }
});

describe("edits for an older text", () => {
  const edit = { range: { start: at(5, 1), end: at(6, 2) }, newText: "" };
  const cases: [string, Parameters<typeof shifted>[1], number | null][] = [
    ["nothing changed", [], 5],
    ["a line more above", [{ first: 0, last: 0, lines: 2 }], 6],
    ["two lines less above", [{ first: 1, last: 3, lines: 1 }], 3],
    ["something below", [{ first: 7, last: 9, lines: 1 }], 5],
    ["its first line", [{ first: 5, last: 5, lines: 1 }], null],
    ["its last line", [{ first: 6, last: 6, lines: 3 }], null],
    ["lines that reach into it", [{ first: 2, last: 5, lines: 1 }], null],
    [
      "where it is after the change before",
      [
        { first: 0, last: 0, lines: 3 },
        { first: 8, last: 8, lines: 1 },
      ],
      null,
    ],
    [
      "where it was before the change before",
      [
        { first: 0, last: 0, lines: 3 },
        { first: 5, last: 5, lines: 1 },
      ],
      7,
    ],
  ];
  for (const [name, changes, first] of cases) {
    it(name, () => {
      const moved = shifted([edit], changes);
      assert.equal(moved === null ? null : moved[0]?.range.start.line, first);
      assert.equal(moved === null ? null : (moved[0]?.range.end.line ?? 0) - 1, first);
    });
  }
});

describe("what a person sees before a yes", () => {
  const cases: [string, string][] = [
    ["ls -la\n\techo é 漢 😀", "ls -la\n\techo é 漢 😀"],
    ["rm -rf ~\u202e #safe", "rm -rf ~\\u{202e} #safe"],
    ["a\rb", "a\\u{d}b"],
    ["a\u200bb\u001b[2K", "a\\u{200b}b\\u{1b}[2K"],
    ["\u{e0041}", "\\u{e0041}"],
  ];
  for (const [text, expected] of cases) {
    it(JSON.stringify(expected), () => assert.equal(visible(text), expected));
  }

  const lines: [string, string][] = [
    ["echo $(evil) `ls`", "echo \\$(evil) `ls`"],
    ["echo $(trash) $(sync~spin)", "echo \\$(trash) \\$(sync~spin)"],
    ["echo $(rm x) $(a.b) \\$(evil)", "echo $(rm x) $(a.b) \\\\$(evil)"],
    ["ls\n$(check) Run", "ls ⏎ \\$(check) Run"],
    [`ls${" ".repeat(500)}; rm x`, "ls <500 blanks> ; rm x"],
    ["a\u2800b\u202e", "a\\u{2800}b\\u{202e}"],
  ];
  for (const [text, expected] of lines) {
    it(`in a menu: ${JSON.stringify(expected)}`, () => assert.equal(menuLine(text), expected));
  }
});
