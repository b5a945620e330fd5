"""The lines that say why a command failed, in what real tools wrote (paths shortened)."""

import pytest

from llamagent_server.tools.error_lines import error_lines

PYTHON = """step 1
Traceback (most recent call last):
  File "/proj/app.py", line 12, in main
    json.loads("{")
  File "/usr/lib/python3.11/json/decoder.py", line 353, in raw_decode
    obj, end = self.scan_once(s, idx)
               ^^^^^^^^^^^^^^^^^^^^^^
json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)
"""
CHAINED = f"""{PYTHON}
The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/proj/app.py", line 17, in <module>
    main()
  File "/proj/app.py", line 14, in main
    raise RuntimeError("prices could not be read") from bad
RuntimeError: prices could not be read
cleaning up
"""
SYNTAX = """  File "/proj/syn.py", line 1
    def broken(:
               ^
SyntaxError: invalid syntax
"""
PYTEST = """=================================== FAILURES ===================================
___________________________________ test_add ___________________________________

    def test_add():
>       assert add(1, 2) == 3
E       assert -1 == 3
E        +  where -1 = add(1, 2)

test_app.py:7: AssertionError
----------------------------- Captured stdout call -----------------------------
adding 0
__________________________________ T.test_add __________________________________

    def test_add(self):
>       self.assertEqual(1 - 2, 3)
E       AssertionError: -1 != 3

test_unit.py:5: AssertionError
=========================== short test summary info ============================
FAILED test_app.py::test_add - assert -1 == 3
FAILED test_unit.py::T::test_add - AssertionError: -1 != 3
========================= 2 failed, 1 passed in 0.35s ==========================
"""
PYTEST_SHORT = """F.                                                        [100%]
FAILED test_app.py::test_add - assert -1 == 3
1 failed, 1 passed in 0.05s
"""
UNITTEST = """F
======================================================================
FAIL: test_add (__main__.T.test_add)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/proj/test_unit.py", line 5, in test_add
    self.assertEqual(1 - 2, 3)
AssertionError: -1 != 3

----------------------------------------------------------------------
Ran 1 test in 0.000s

FAILED (failures=1)
"""
NODE = """step 19
/proj/a.js:2
function total(rows) { return rows.reduce((sum, row) => sum + row.price, 0); }
                                   ^

TypeError: Cannot read properties of undefined (reading 'reduce')
    at Array.reduce (node:internal/array:1:2)
    at total (/proj/a.js:2:36)
    at Object.<anonymous> (/proj/a.js:3:13)
    at Module._compile (node:internal/modules/cjs/loader:1521:14)

Node.js v20.20.2
"""
NODE_ASSERT = """✖ adds (1.2ms)
  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

  -1 !== 3

      at TestContext.<anonymous> (/proj/a.test.js:2:29)
      at Test.runInAsyncScope (node:async_hooks:206:9)
"""
TAP = """TAP version 13
# Subtest: adds
not ok 1 - adds
  ---
  duration_ms: 2.078985
  location: '/proj/a.test.js:2:1'
  failureType: 'testCodeFailure'
  error: |-
    Expected values to be strictly equal:

    -1 !== 3

  code: 'ERR_ASSERTION'
  name: 'AssertionError'
  ...
# fail 1
"""
TSC = """a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.
a.ts(2,40): error TS2322: Type 'string' is not assignable to type 'number'.
a.ts(3,1): error TS2552: Cannot find name 'undefinedName'. Did you mean 'undefined'?
a.ts(4,1): error TS2552: Cannot find name 'another'.
"""
TSC_PRETTY = """src/a.ts:1:7 - error TS2322: Type 'string' is not assignable to type 'number'.

1 const n: number = "one";
        ~

Found 1 error in src/a.ts:1
"""
CARGO = """   Compiling demo v0.1.0 (/proj)
error[E0425]: cannot find value `y` in this scope
 --> src/main.rs:1:48
  |
1 | fn main() { let x: i32 = "one"; println!("{}", y); }
  |                                                ^

error[E0308]: mismatched types
 --> src/main.rs:1:26
  |
error: aborting due to 2 previous errors

For more information about an error, try `rustc --explain E0308`.
error: could not compile `demo` (bin "demo") due to 2 previous errors
"""
CARGO_TEST = """test tests::adds ... FAILED

failures:

---- tests::adds stdout ----

thread 'tests::adds' (7231) panicked at src/lib.rs:3:33:
assertion `left == right` failed
  left: -1
 right: 3
stack backtrace:
   0: __rustc::rust_begin_unwind
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.19s

error: test failed, to rerun pass `--lib`
"""
GO_BUILD = """# example.com/demo
./main.go:5:2: undefined: total
./main.go:6:9: cannot use "one" (untyped string constant) as int value in assignment
"""
GO_TEST = """=== RUN   TestAdd
    main_test.go:8: got -1, want 3
--- FAIL: TestAdd (0.00s)
    main_test.go:8: got -1, want 3
FAIL
exit status 1
FAIL\texample.com/demo\t0.002s
"""
GO_PANIC = """panic: runtime error: index out of range [3] with length 3

goroutine 1 [running]:
main.third(...)
\t/proj/main.go:6
main.main()
\t/proj/main.go:11 +0x1d
exit status 2
"""
MAKE = """building 12
cc -c a.c -o a.o
a.c: In function ‘main’:
a.c:1:25: error: ‘x’ undeclared (first use in this function)
    1 | int main(void) { return x; }
      |                         ^
make: *** [Makefile:5: two] Error 1
"""

CASES = {
    "python, a library's frame is not the place": (
        PYTHON,
        [
            '  File "/proj/app.py", line 12, in main',
            '    json.loads("{")',
            "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ],
    ),
    "python, the last of chained tracebacks": (
        CHAINED,
        [
            '  File "/proj/app.py", line 14, in main',
            '    raise RuntimeError("prices could not be read") from bad',
            "RuntimeError: prices could not be read",
        ],
    ),
    "python, syntax": (SYNTAX, SYNTAX.splitlines()),
    "pytest": (PYTEST, ["E       AssertionError: -1 != 3", "test_unit.py:5: AssertionError"]),
    "pytest without tracebacks": (PYTEST_SHORT, ["FAILED test_app.py::test_add - assert -1 == 3"]),
    "unittest": (
        UNITTEST,
        [
            '  File "/proj/test_unit.py", line 5, in test_add',
            "    self.assertEqual(1 - 2, 3)",
            "AssertionError: -1 != 3",
        ],
    ),
    "node": (
        NODE,
        ["TypeError: Cannot read properties of undefined (reading 'reduce')", "    at total (/proj/a.js:2:36)"],
    ),
    "node, a message of several lines": (
        NODE_ASSERT,
        [
            "  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:",
            "  -1 !== 3",
            "      at TestContext.<anonymous> (/proj/a.test.js:2:29)",
        ],
    ),
    "node's test runner": (
        TAP,
        [
            "not ok 1 - adds",
            "  location: '/proj/a.test.js:2:1'",
            "  error: |-",
            "    Expected values to be strictly equal:",
            "    -1 !== 3",
        ],
    ),
    "tsc, the first three": (TSC, TSC.splitlines()[:3]),
    "tsc, pretty": (TSC_PRETTY, TSC_PRETTY.splitlines()[:1]),
    "cargo": (
        CARGO,
        [
            "error[E0425]: cannot find value `y` in this scope",
            " --> src/main.rs:1:48",
            "error[E0308]: mismatched types",
            " --> src/main.rs:1:26",
        ],
    ),
    "cargo test": (
        CARGO_TEST,
        [
            "thread 'tests::adds' (7231) panicked at src/lib.rs:3:33:",
            "assertion `left == right` failed",
            "  left: -1",
            " right: 3",
        ],
    ),
    "go build": (GO_BUILD, GO_BUILD.splitlines()[1:]),
    "go test": (GO_TEST, ["--- FAIL: TestAdd (0.00s)", "    main_test.go:8: got -1, want 3"]),
    "go, a panic": (GO_PANIC, ["panic: runtime error: index out of range [3] with length 3", "\t/proj/main.go:6"]),
    "make, what it ran": (MAKE, ["a.c:1:25: error: ‘x’ undeclared (first use in this function)"]),
    "make itself": (
        "x\nmake: *** No rule to make target 'nothing'.  Stop.\n",
        ["make: *** No rule to make target 'nothing'.  Stop."],
    ),
    "a shell": ("x\nbash: line 1: nosuch: command not found\n", ["bash: line 1: nosuch: command not found"]),
    "what came last ended it": (f"{PYTEST}{TSC}", TSC.splitlines()[:3]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_lines_that_say_why_are_found(name: str) -> None:
    output, expected = CASES[name]
    lines = output.split("\n")
    assert [lines[index] for index in error_lines(lines)] == expected


@pytest.mark.parametrize(
    "output",
    [
        "",
        "\n\n",
        "all is well\n12 passed\n",
        "an error may be near, and a failed one too\n",
        'Traceback (most recent call last):\n  File "a.py", line 1\n',
        "class ValueErrors:\n    pass\n",
        "0 errors, 0 failed\n",
        "E\n",
        "--- a/x\n+++ b/x\n",
    ],
)
def test_where_nothing_says_why_nothing_is_guessed(output: str) -> None:
    assert error_lines(output.split("\n")) == []


def test_a_message_of_pytest_with_an_empty_line_in_it_is_one_message() -> None:
    lines = ["E  AssertionError: they differ", "E", "E  - one", "E  + two", "E  ? ^^^", "test_a.py:3: AssertionError"]
    assert error_lines(lines) == [0, 1, 2, 3, 5]
    assert error_lines([*lines, "", *lines]) == [7, 8, 9, 10, 12]


def test_of_many_general_lines_in_a_row_the_last_three_are_given_in_their_order() -> None:
    assert error_lines(["ok", *[f"FAILED {number}" for number in range(9)], "done"]) == [7, 8, 9]
