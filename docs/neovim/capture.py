"""Takes the pictures of this folder anew: a real Neovim in tmux, the real daemon, a scripted model.

    python docs/neovim/capture.py [OUTPUT_FOLDER]

Run from the repository's root with the development requirements, tmux, and Pillow (only for these pictures; not a
requirement). Writes `<scene>-<size>-<background>.png` and, for reading without a viewer, `<scene>-<size>.txt`.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.fakes import FakeOllama, Reply, call, say  # noqa: E402
from tests.fakes.script import Call  # noqa: E402
from tests.neovim.driver import DAEMON, PLUGIN, PROGRAM, environment, project  # noqa: E402

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono{}.ttf"
SIZES = ((160, 45), (80, 24))
CELL = (9, 19)

INVOICE = '''"""Invoices."""


def total(items):
    result = 0
    for item in items:
        result += item.price
    return result


def count(items):
    number = 0
    for item in items:
        number += 1
    return number


def names(items):
    found = []
    for item in items:
        found.append(item.name)
    return found
'''
SHORTER = '''"""Invoices."""


def total(items):
    return sum(item.price for item in items)


def count(items):
    return len(items)


def names(items):
    return [item.name for item in items]
'''
THOUGHTS = "The loops add up by hand.\nsum, len and a comprehension do that.\n" * 5
WORDS = """I will shorten the three functions:

- `total` with **sum**
- `count` with **len**
- `names` with a comprehension

```lua
-- code is highlighted by treesitter, where a parser is installed
local answer = 42
```"""


def script() -> list[Reply]:
    return [
        Reply(content=WORDS, thinking=THOUGHTS, calls=(Call("read_file", {"path": "invoice.py"}),)),
        call("write_file", path="invoice.py", content=SHORTER),
        say("All three are one line now; I kept their names and what they return."),
        call("edit_file", path="invoice.py", old_text="len(items)", new_text="len(list(items))"),
        say("Now it takes any iterable."),
        say("unused"),
    ]


class Terminal:
    """A tmux session with one Neovim in it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def tmux(self, *arguments: str) -> str:
        done = subprocess.run(["tmux", "-L", self.name, *arguments], capture_output=True, text=True, check=True)
        return done.stdout

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", "0", *keys)

    def text(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "0")

    def until(self, *words: str) -> None:
        deadline = time.monotonic() + 30
        while not all(word in self.text() for word in words):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{words} did not come:\n{self.text()}")
            time.sleep(0.05)

    def still(self) -> str:
        """The screen with its colours, once it does not change any more."""
        before = ""
        while before != (now := self.tmux("capture-pane", "-e", "-N", "-p", "-t", "0")):
            before = now
            time.sleep(0.4)
        return now


@contextmanager
def terminal(columns: int, lines: int, background: str, url: str, folder: Path) -> Iterator[Terminal]:
    home = folder / "home"
    home.mkdir()
    settings = f"""
vim.o.background = '{background}'
vim.o.termguicolors = true
vim.o.number = true
vim.opt.rtp:prepend('{PLUGIN}')
require('llamagent').setup {{
  cmd = {{ {", ".join(repr(word) for word in DAEMON)} }},
  trusted = true,
  settings = {{ url = '{url}', think = true }},
  review = {{ idle_ms = 300 }},
}}
"""
    (home / "init.lua").write_text(settings, "utf-8")
    work = project(folder / "shop", {"invoice.py": INVOICE})
    screen = Terminal(f"llamagent-{os.getpid()}-{columns}-{background}")
    command = f"cd {work} && exec {PROGRAM} -n -i NONE -u {home / 'init.lua'} invoice.py"
    surroundings = environment(home) | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    size = ["-x", str(columns), "-y", str(lines)]
    session = ["tmux", "-L", screen.name, "-f", "/dev/null", "new-session", "-d", *size, command]
    subprocess.run(session, env=surroundings, check=True)
    screen.tmux("set-option", "-g", "status", "off")
    screen.tmux("set-option", "-ga", "terminal-overrides", ",*:Tc")
    try:
        yield screen
    finally:
        screen.tmux("kill-server")


# --- The scenes


def palette(screen: Terminal) -> None:
    screen.keys(":Llamagent", "Enter")
    screen.until("1: Ask", "5: Cancel")


def leave_palette(screen: Terminal) -> None:
    screen.keys("q")
    while "invoice.py    " not in screen.text():
        time.sleep(0.2)
        screen.keys("Enter")


def review(screen: Terminal) -> None:
    screen.keys(":Llamagent ask Make invoice.py shorter", "Enter")
    screen.until("proposal 1/1")


def panel(screen: Terminal) -> None:
    screen.keys("ga")
    screen.until("answered")


def small(screen: Terminal) -> None:
    screen.keys(":Llamagent ask count should take any iterable", "Enter")
    screen.until("waits: ga")


def prompt(screen: Terminal) -> None:
    screen.keys(":Llamagent reject", "Enter")
    screen.until("rejected")
    screen.keys(":Llamagent ask", "Enter")
    screen.until("sends")
    screen.keys("look at @in")
    screen.until("@invoice.py")


SCENES: tuple[tuple[str, Callable[[Terminal], None]], ...] = (
    ("palette", palette),
    ("", leave_palette),
    ("review", review),
    ("panel", panel),
    ("small-edit", small),
    ("prompt", prompt),
)


# --- From a terminal's text to a picture


@dataclass(frozen=True)
class Style:
    foreground: tuple[int, int, int]
    background: tuple[int, int, int]
    bold: bool = False
    reverse: bool = False


def cube(number: int) -> tuple[int, int, int]:
    """One of the 256 colours."""
    basic = ["000000", "cd0000", "00cd00", "cdcd00", "0000ee", "cd00cd", "00cdcd", "e5e5e5"]
    bright = ["7f7f7f", "ff0000", "00ff00", "ffff00", "5c5cff", "ff00ff", "00ffff", "ffffff"]
    if number < 16:
        code = (basic + bright)[number]
        return int(code[:2], 16), int(code[2:4], 16), int(code[4:], 16)
    if number >= 232:
        grey = 8 + 10 * (number - 232)
        return grey, grey, grey
    levels = (0, 95, 135, 175, 215, 255)
    number -= 16
    return levels[number // 36], levels[number // 6 % 6], levels[number % 6]


def restyled(style: Style, codes: list[int], plain: Style) -> Style:
    """The style after one SGR sequence (ECMA-48)."""
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = plain
        elif code == 1:
            style = replace(style, bold=True)
        elif code == 7:
            style = replace(style, reverse=True)
        elif code in (38, 48):
            colour = cube(codes.pop(1)) if codes[0] == 5 else (codes[1], codes[2], codes[3])
            del codes[: 1 if codes[0] == 5 else 4]
            style = replace(style, **{"foreground" if code == 38 else "background": colour})
        elif code in (39, 49):
            name = "foreground" if code == 39 else "background"
            style = replace(style, **{name: getattr(plain, name)})
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style = replace(style, foreground=cube(code - 30 if code < 90 else code - 82))
        elif 40 <= code <= 47 or 100 <= code <= 107:
            style = replace(style, background=cube(code - 40 if code < 100 else code - 92))
    return style


def picture(text: str, columns: int, background: str) -> Image.Image:
    dark = background == "dark"
    plain = Style((224, 226, 234), (20, 22, 27)) if dark else Style((20, 22, 27), (224, 226, 234))
    rows = text.split("\n")
    image = Image.new("RGB", (columns * CELL[0], len(rows) * CELL[1]), plain.background)
    draw = ImageDraw.Draw(image)
    fonts = {bold: ImageFont.truetype(FONT.format("-Bold" if bold else ""), 15) for bold in (False, True)}
    style = plain
    for y, row in enumerate(rows):
        x = 0
        for codes, characters in re.findall(r"(?:\x1b\[([\d;:]*)m)|([^\x1b]+)", row):
            if not characters:
                style = restyled(style, [int(code or 0) for code in re.split("[;:]", codes)], plain)
                continue
            front, back = style.foreground, style.background
            if style.reverse:
                front, back = back, front
            for character in characters:
                corner = (x * CELL[0], y * CELL[1])
                draw.rectangle([corner, (corner[0] + CELL[0] - 1, corner[1] + CELL[1] - 1)], fill=back)
                draw.text(corner, character, font=fonts[style.bold], fill=front)
                x += 1
    return image


def main(target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for columns, lines in SIZES:
        for background in ("dark", "light"):
            scenes(columns, lines, background, target)


def scenes(columns: int, lines: int, background: str, target: Path) -> None:
    with (
        FakeOllama(script()) as model,
        tempfile.TemporaryDirectory() as folder,
        terminal(columns, lines, background, model.url, Path(folder)) as screen,
    ):
        screen.until("invoice.py")
        for name, play in SCENES:
            play(screen)
            shown = screen.still()
            if name:
                stem = f"{name}-{columns}x{lines}"
                picture(shown.rstrip("\n"), columns, background).save(target / f"{stem}-{background}.png")
                (target / f"{stem}.txt").write_text(screen.text(), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
