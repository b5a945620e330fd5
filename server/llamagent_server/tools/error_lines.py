"""Where in the output of a failed command the error stands: the few lines that a person would look for first.

Of what ends a program (a traceback, a failed assertion, a panic) the last one counts; of a compiler's errors the first
ones, for the others often follow from them. Nothing is guessed: no known form, no lines.
"""

import re
from collections.abc import Callable, Iterator, Sequence

Block = list[int]  # indices of lines, in their order
Kind = Callable[[Sequence[str]], list[Block]]

_COMPILER_ERRORS = 3
_MESSAGE_LINES = 4

_FRAME = re.compile(r'\s+File "(?P<path>.*)", line \d+')
_LIBRARY = re.compile(r"site-packages|dist-packages|/lib/python\d|\\Lib\\|^<|node:|node_modules|/src/runtime/|/rustc/")
_SYNTAX = re.compile(r"(?:SyntaxError|IndentationError|TabError): ")
_LOCATION = re.compile(r"\S+:\d+: ")
_THROWN = re.compile(r"\s*(?:Uncaught )?(?:\w+\.)*\w*(?:Error|Exception)(?: \[\w+\])?(?:: .+)?$")
_JS_FRAME = re.compile(r"\s+at .*:\d+:\d+\)?$")
_GO_FRAME = re.compile(r"\s+\S+\.go:\d+")
_PANIC = re.compile(r"thread '.*' (?:\(\d+\) )?panicked at ")
_COMPILER = re.compile(
    r"\S.*\(\d+,\d+\): error TS\d+: |\S+:\d+:\d+ - error TS\d+: "  # tsc
    r"|\S.*?:\d+(?::\d+)?: (?:fatal )?error: "  # gcc, clang, mypy
    r"|\S+\.go:\d+:\d+: "
)
_RUSTC = re.compile(r"error(?:\[E\d+\])?: ")
_WRAPPER = re.compile(
    r"\S*make(?:\[\d+\])?: \*\*\*|npm (?:ERR!|error)"
    r"|error: (?:could not compile|test failed|aborting due|\d+ targets? failed)"
)
_GENERAL = re.compile(
    r"\s*(?:(?:FAILED|FAIL|ERROR|Error|error|FATAL|Fatal error|fatal)(?::|\s|\[)|AssertionError\b|assert\b)"
    r"|.*: (?:command )?not found$|.*: No such file or directory$|.*: Permission denied$"
)


def error_lines(lines: Sequence[str]) -> Block:
    """The indices of the lines that say why the command failed, a handful at most; empty where none does."""
    found = [blocks for kind in (*_ENDINGS, *_COMPILERS) if (blocks := kind(lines))]
    if found:
        return max(found, key=lambda blocks: blocks[-1][-1])[-1]
    return _last_run(lines, lambda line: _GENERAL.match(line) and not _WRAPPER.match(line)) or _last_run(
        lines, lambda line: _WRAPPER.match(line)
    )


def _last_run(lines: Sequence[str], matches: Callable[[str], object]) -> Block:
    """The last lines in a row that match."""
    block: Block = []
    for index in range(len(lines) - 1, -1, -1):
        if matches(lines[index]):
            block.append(index)
        elif block:
            break
        if len(block) == _COMPILER_ERRORS:
            break
    return block[::-1]


def _message(lines: Sequence[str], start: int, end: re.Pattern[str]) -> Iterator[int]:
    """The lines of a message from `start` up to a line that matches `end`, but for blank ones."""
    for index in range(start, min(start + 2 * _MESSAGE_LINES, len(lines))):
        if end.match(lines[index]):
            return
        if lines[index].strip():
            yield index


def _own(lines: Sequence[str], frames: Sequence[int]) -> int | None:
    """The innermost frame that is no library's, of `frames` from the outermost; else the innermost one."""
    return next(
        (frame for frame in reversed(frames) if not _LIBRARY.search(lines[frame])), frames[-1] if frames else None
    )


# --- What ends a program ---------------------------------------------------------------------------------------------


def _python(lines: Sequence[str]) -> list[Block]:
    blocks = []
    for start, line in enumerate(lines):
        if not line.lstrip().startswith("Traceback (most recent call last)"):
            continue
        depth = _depth(line)
        end = next((i for i in range(start + 1, len(lines)) if lines[i].strip() and _depth(lines[i]) <= depth), None)
        if end is None:
            continue
        frame = _own(lines, [i for i in range(start + 1, end) if _FRAME.match(lines[i])])
        code = [] if frame is None else [i for i in (frame, frame + 1) if i < end]
        blocks.append([*code, end])
    return blocks


def _python_syntax(lines: Sequence[str]) -> list[Block]:
    blocks = []
    for index, line in enumerate(lines):
        if _SYNTAX.match(line):
            start = next((i for i in range(index - 1, max(index - 5, -1), -1) if _FRAME.match(lines[i])), index)
            blocks.append(list(range(start, index + 1)))
    return blocks


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _pytest(lines: Sequence[str]) -> list[Block]:
    blocks, end = [], 0
    for index, line in enumerate(lines):
        if index < end or not line.startswith("E  "):
            continue
        # A message has lines with nothing behind the E.
        end = next((i for i in range(index, len(lines)) if not lines[i].startswith("E")), len(lines))
        place = [i for i in range(end, min(end + 3, len(lines))) if _LOCATION.match(lines[i])]
        blocks.append([*range(index, min(end, index + _MESSAGE_LINES)), *place[:1]])
    return blocks


def _javascript(lines: Sequence[str]) -> list[Block]:
    blocks = []
    for index, line in enumerate(lines):
        if not _THROWN.match(line):
            continue
        message = list(_message(lines, index, _JS_FRAME))
        after = message[-1] + 1
        while after < len(lines) and not lines[after].strip():
            after += 1
        end = after
        while end < len(lines) and _JS_FRAME.match(lines[end]):
            end += 1
        # The frames are listed from the innermost.
        frame = _own(lines, list(range(end - 1, after - 1, -1)))
        if frame is not None:
            blocks.append([*message, frame])
    return blocks


def _tap(lines: Sequence[str]) -> list[Block]:
    """Reports in the Test Anything Protocol, which Node's test runner writes."""
    blocks = []
    for index, line in enumerate(lines):
        if re.match(r"\s*not ok \d+", line):
            error = next((i for i in range(index, min(index + 12, len(lines))) if "error: " in lines[i]), None)
            told = [] if error is None else list(_message(lines, error, re.compile(r"\s*(?:code|name|stack): ")))
            place = [i for i in range(index + 1, error or index) if lines[i].lstrip().startswith("location: ")]
            blocks.append([index, *place, *told])
    return blocks


def _rust_panic(lines: Sequence[str]) -> list[Block]:
    end = re.compile(r"note: |stack backtrace:|$")
    return [[i, *_message(lines, i + 1, end)] for i, line in enumerate(lines) if _PANIC.match(line)]


def _go_test(lines: Sequence[str]) -> list[Block]:
    blocks = []
    for index, line in enumerate(lines):
        if line.lstrip().startswith("--- FAIL: "):
            end = index + 1
            while end < len(lines) and _GO_FRAME.match(lines[end]):
                end += 1
            blocks.append([index, *range(index + 1, min(end, index + 1 + _MESSAGE_LINES))])
    return blocks


def _go_panic(lines: Sequence[str]) -> list[Block]:
    start = next((i for i in range(len(lines) - 1, -1, -1) if lines[i].startswith("panic: ")), None)
    if start is None:
        return []
    frame = _own(lines, [i for i in range(start + 1, len(lines)) if _GO_FRAME.match(lines[i])][::-1])
    return [[start] if frame is None else [start, frame]]


# --- What compilers say ----------------------------------------------------------------------------------------------


def _compiler(lines: Sequence[str]) -> list[Block]:
    found = [i for i, line in enumerate(lines) if _COMPILER.match(line)]
    return [found[:_COMPILER_ERRORS]] if found else []


def _rustc(lines: Sequence[str]) -> list[Block]:
    pairs = [
        (i, i + 1) for i in range(len(lines) - 1) if _RUSTC.match(lines[i]) and lines[i + 1].lstrip().startswith("--> ")
    ]
    return [[i for pair in pairs[:_COMPILER_ERRORS] for i in pair]] if pairs else []


_ENDINGS: tuple[Kind, ...] = (
    _python,
    _python_syntax,
    _pytest,
    _javascript,
    _tap,
    _rust_panic,
    _go_test,
    _go_panic,
)
_COMPILERS: tuple[Kind, ...] = (_compiler, _rustc)
