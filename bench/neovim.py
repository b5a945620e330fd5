"""What the Neovim plugin costs: start, first paint of the panel, and a conversation that streams fast.

    python -m bench.neovim [--seconds 10] [--rate 1000]

Drives a real Neovim in a real terminal (a pseudo terminal of 160x45) with a stand-in server that sends `--rate` trace
events a second. Measures Neovim's start with and without the plugin, the time from `:Llamagent panel` to its first
paint (under 50 ms), Neovim's CPU share while it streams (25 % of a core or less), and how long a typed key's echo takes
meanwhile (50 ms at most). Exits with 1 where a limit is missed.
"""

import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pynvim

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.harness import Figure, needs, options, report  # noqa: E402
from tests.neovim.driver import PLUGIN, PROGRAM, environment, project  # noqa: E402

STANDIN = ROOT / "tests" / "neovim" / "standin.py"
LIMITS = {
    "start with the plugin": 50.0,
    "panel: key to first paint": 50.0,
    "events that are not in the panel": 0.0,
    "share of a core while streaming": 25.0,
    "typed key to echo": 50.0,
    "typed key to echo, worst": 50.0,
}
# How many of the events stand in the panel.
DRAWN = """
for _, b in ipairs(vim.api.nvim_list_bufs()) do
  if vim.bo[b].filetype == 'llamagent' then
    return select(2, table.concat(vim.api.nvim_buf_get_lines(b, 0, -1, true), ' '):gsub('model ', ''))
  end
end
"""


class Screen:
    """A terminal with Neovim in it: what it draws is read away all the time, and counted."""

    def __init__(self, arguments: list[str], surroundings: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        subprocess.run(["stty", "rows", "45", "cols", "160"], stdin=slave, check=True)
        self.process = subprocess.Popen(
            [str(PROGRAM), *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=surroundings,
            start_new_session=True,
        )
        os.close(slave)
        self._changed = threading.Condition()
        self._seen = b""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while select.select([self._master], [], [])[0]:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                return
            with self._changed:
                self._seen = (self._seen + data)[-200_000:]
                self._changed.notify_all()

    def forget(self) -> None:
        with self._changed:
            self._seen = b""

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def until(self, text: bytes, timeout: float = 20.0) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: text in self._seen, timeout):
                raise TimeoutError(f"{text!r} was not drawn: {self._seen[-500:]!r}")


@contextmanager
def neovim(folder: Path, script: dict[str, object]) -> Iterator[tuple[Screen, pynvim.Nvim]]:
    home = folder / "home"
    home.mkdir(parents=True)
    work = project(folder / "work", {"a.py": "x = 1\n" * 40})
    (folder / "script.json").write_text(json.dumps(script), "utf-8")
    command = [sys.executable, str(STANDIN), str(folder / "script.json"), str(folder / "log.jsonl")]
    socket = folder / "socket"
    (home / "init.lua").write_text(
        f"vim.opt.rtp:prepend({json.dumps(str(PLUGIN))})\n"
        f"require('llamagent').setup {{ cmd = {{ {', '.join(json.dumps(word) for word in command)} }} }}\n",
        "utf-8",
    )
    arguments = ["-n", "-i", "NONE", "-u", str(home / "init.lua"), "--listen", str(socket), str(work / "a.py")]
    screen = Screen(arguments, environment(home) | {"TERM": "xterm-256color"})
    while not socket.exists():
        time.sleep(0.01)
    nvim = pynvim.attach("socket", path=str(socket))
    while not nvim.exec_lua("return (vim.lsp.get_clients()[1] or {}).initialized"):
        time.sleep(0.01)
    try:
        yield screen, nvim
    finally:
        screen.process.kill()
        screen.process.wait()


def start_times(folder: Path, *, plugin: bool) -> tuple[float, ...]:
    """Milliseconds by Neovim's own clock until it is ready, with or without the plugin."""
    log = folder / "startup.log"
    with_plugin = ["--cmd", f"set rtp^={PLUGIN}"] if plugin else []
    times = []
    for _ in range(15):
        log.unlink(missing_ok=True)
        command = [str(PROGRAM), "--headless", "--clean", *with_plugin, "--startuptime", str(log), "+qall"]
        subprocess.run(command, env=environment(folder), capture_output=True, check=True)
        times.append(max(float(line.split()[0]) for line in log.read_text("utf-8").splitlines() if line[:1].isdigit()))
    return tuple(times)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def paint(screen: Screen) -> float:
    """Milliseconds from the key to the panel's first paint."""
    screen.type(b":Llamagent panel")
    screen.until(b"panel")
    screen.forget()
    started = time.perf_counter()
    screen.type(b"\r")
    screen.until(b"below.")
    return (time.perf_counter() - started) * 1000


def lags(screen: Screen, seconds: float) -> list[float]:
    """Milliseconds from a typed letter to its echo, while the panel streams. Each letter is one that is not there."""
    found = []
    deadline = time.monotonic() + seconds
    screen.type(b"O")
    time.sleep(0.2)
    index = 0
    while time.monotonic() < deadline:
        marker = "αβγδεζηθικλμνξοπρστυφχψω"[index % 24].encode()
        index += 1
        screen.forget()
        started = time.perf_counter()
        screen.type(marker)
        screen.until(marker)
        found.append((time.perf_counter() - started) * 1000)
        time.sleep(0.05)
    screen.type(b"\x1b")
    return found


def streaming(folder: Path, seconds: float, rate: int) -> Iterator[Figure]:
    script = {"asks": [[{"flood": [int(seconds * rate), rate, "some words of a model "]}]]}
    with neovim(folder, script) as (screen, nvim):
        yield Figure("panel: key to first paint", "ms", (paint(screen),))
        pid = nvim.funcs.getpid()
        screen.type(b":Llamagent ask go\r")
        screen.until(b"writing")
        cpu, started = cpu_seconds(pid), time.monotonic()
        found = lags(screen, seconds - 2)
        spent, passed = cpu_seconds(pid) - cpu, time.monotonic() - started
        while nvim.exec_lua("return require('llamagent.conversation').of(1).running"):
            time.sleep(0.05)
        drawn = nvim.exec_lua(DRAWN)
        yield Figure("events that are not in the panel", "", (float(int(seconds * rate) - drawn),))
        yield Figure("share of a core while streaming", "%", (100 * spent / passed,))
        yield Figure("typed key to echo", "ms", tuple(found))
        yield Figure("typed key to echo, worst", "ms", (max(found),))


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=int, default=1000, help="events a second")
    given = parser.parse_args()
    needs(str(PROGRAM), "`make venv` brings it.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = [
            Figure("start without the plugin", "ms", start_times(folder, plugin=False)),
            Figure("start with the plugin", "ms", start_times(folder, plugin=True)),
        ]
        figures += streaming(folder / "stream", given.seconds, given.rate)
    return report("neovim", figures, limits=LIMITS)


if __name__ == "__main__":
    sys.exit(main())
