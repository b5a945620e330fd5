"""Neovim under test: a real one over its own RPC, with what a person sees and does."""

import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pynvim

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "clients" / "neovim"
DAEMON = [sys.executable, "-m", "llamagent_server", "serve", "--stdio"]
HANGS_AFTER = 60.0  # seconds
PROGRAM = Path(sys.executable).parent / "nvim"

# What a person would answer and read, made visible: pickers and messages would wait for keys that nobody types.
STUBS = """
_G.messages, _G.asked, _G.answers, _G.events = {}, {}, {}, {}
vim.notify = function(text, level) table.insert(_G.messages, text) end
vim.ui.select = function(items, options, on_choice)
  local shown = vim.tbl_map(options.format_item or tostring, items)
  table.insert(_G.asked, { prompt = options.prompt or '', items = shown })
  _G.pending_choice = function(title)
    for i, text in ipairs(shown) do
      if title and vim.startswith(text, title) then return on_choice(items[i], i) end
    end
    on_choice(nil, nil)
  end
  local answer = table.remove(_G.answers, 1)
  if answer ~= nil then _G.pending_choice(answer) end
end
vim.ui.input = function(options, on_confirm)
  table.insert(_G.asked, { prompt = options.prompt or '', items = {} })
  local answer = table.remove(_G.answers, 1)
  if answer == false then answer = nil end
  on_confirm(answer)
end
vim.api.nvim_create_autocmd('User', {
  pattern = 'Llamagent*',
  callback = function(event) table.insert(_G.events, event.match) end,
})
"""


class Editor:
    """One running Neovim. Waiting methods fail after `TIMEOUT` seconds and say what was there instead."""

    TIMEOUT = 10.0

    def __init__(self, nvim: pynvim.Nvim, home: Path) -> None:
        self.nvim = nvim
        self.home = home

    def lua(self, code: str, *arguments: Any) -> Any:
        return self.nvim.exec_lua(code, *arguments)

    def command(self, text: str) -> None:
        self.nvim.command(text)

    def type(self, keys: str) -> None:
        """Keys as a person types them."""
        self.nvim.input(keys)

    def setup(self, **options: Any) -> None:
        self.lua("require('llamagent').setup(...)", options)

    def until(self, condition: str, what: str = "") -> Any:
        """Wait until the Lua expression is true; answers its value."""
        deadline = time.monotonic() + self.TIMEOUT
        while not (value := self.lua(f"return {condition}")):
            assert time.monotonic() < deadline, f"not so: {what or condition}\n{self.situation()}"
            time.sleep(0.005)
        return value

    def until_disk(self, path: Path, expected: bytes) -> None:
        deadline = time.monotonic() + self.TIMEOUT
        while not path.exists() or path.read_bytes() != expected:
            assert time.monotonic() < deadline, path.read_bytes() if path.exists() else "no file"
            time.sleep(0.005)

    def open(self, path: Path) -> None:
        """Open a file and wait until the server knows it."""
        self.command(f"edit {path}")
        self.until("vim.iter(vim.lsp.get_clients({ bufnr = 0 })):any(function(c) return c.initialized end)")

    def ask(self, words: str) -> None:
        self.command(f"Llamagent ask {words}")

    def until_review(self) -> None:
        """Wait until a review is on the screen."""
        self.until("require('llamagent.diffview').is_open()", "a review is on the screen")

    def until_waiting(self) -> None:
        """Wait until a review waits, on the screen or not."""
        self.until("require('llamagent.review').next() ~= nil", "a review waits")

    def until_ended(self, turns: int = 1) -> None:
        count = "#vim.tbl_filter(function(e) return e == 'LlamagentTurnEnded' end, _G.events)"
        self.until(f"{count} >= {turns}", f"{turns} turns have ended")
        self.lua("return 1")  # what was scheduled with the event has run

    def lines(self, path: Path | None = None) -> list[str]:
        if path is None:
            return list(self.nvim.current.buffer[:])
        bufnr = self.nvim.funcs.bufnr(str(path))
        assert bufnr > 0, f"no buffer of {path}"
        return list(self.nvim.api.buf_get_lines(bufnr, 0, -1, True))

    def panel(self) -> str:
        """The text of the panel."""
        return "\n".join(
            self.lua(
                "for _, b in ipairs(vim.api.nvim_list_bufs()) do if vim.bo[b].filetype == 'llamagent' then"
                " return vim.api.nvim_buf_get_lines(b, 0, -1, true) end end return {}"
            )
        )

    def signs(self) -> list[str]:
        """Line by line of the panel, the highlight groups of its signs."""
        return [
            " ".join(groups)
            for groups in self.lua(
                "local rows = {} for _, b in ipairs(vim.api.nvim_list_bufs()) do"
                " if vim.bo[b].filetype == 'llamagent' then"
                " for row = 0, vim.api.nvim_buf_line_count(b) - 1 do local groups = {}"
                " for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(b, -1, {row, 0}, {row, -1}, {details = true})) do"
                " table.insert(groups, mark[4].sign_hl_group) end table.insert(rows, groups) end end end return rows"
            )
        ]

    def until_panel(self, text: str) -> None:
        deadline = time.monotonic() + self.TIMEOUT
        while text not in self.panel():
            assert time.monotonic() < deadline, f"{text!r} is not in the panel\n{self.situation()}"
            time.sleep(0.005)

    def until_queued(self, count: int) -> None:
        self.until(f"#require('llamagent.conversation').of(vim.lsp.get_clients()[1].id).queue == {count}")

    def messages(self) -> str:
        return "\n".join(self.lua("return _G.messages"))

    def asked(self) -> list[dict[str, Any]]:
        return list(self.lua("return _G.asked"))

    def answer(self, *answers: Any) -> None:
        """What the next pickers and inputs get: the beginning of a title, a text, or False for leaving."""
        self.lua("vim.list_extend(_G.answers, ...)", list(answers))

    def screen(self) -> str:
        self.command("redraw!")
        columns, lines = self.nvim.options["columns"], self.nvim.options["lines"]
        rows = (
            "".join(self.nvim.funcs.screenstring(row, c + 1) for c in range(columns)) for row in range(1, lines + 1)
        )
        return "\n".join(row.rstrip() for row in rows)

    def errors(self) -> str:
        """What Neovim reported as an error of the plugin's code."""
        said = str(self.nvim.command_output("messages"))
        return said if "stack traceback" in said or "Error executing" in said or "E5108" in said else ""

    def server_pids(self) -> list[int]:
        """The processes that Neovim started and that still live."""
        pid = self.nvim.funcs.getpid()
        return children(pid)

    def situation(self) -> str:
        log = self.home / "state" / "nvim" / "lsp.log"
        tail = log.read_text("utf-8", "replace")[-3000:] if log.exists() else ""
        return f"messages: {self.messages()}\nevents: {self.lua('return _G.events')}\n{self.screen()}\n{tail}"


def children(pid: int) -> list[int]:
    """Child processes, from Linux' process file system."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            if parent == pid:
                found.append(int(entry.name))
    return found


def alive(pid: int) -> bool:
    """Whether the process still runs; one that only waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def environment(home: Path) -> dict[str, str]:
    """All folders of the person's below `home`, and nothing of the machine's own settings."""
    folders = {
        name: home / name.split("_")[1].lower() for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
    }
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OLLAMA", "NVIM", "VIM"))}
    return (
        kept
        | {key: str(path) for key, path in folders.items()}
        | {"HOME": str(home), "NVIM_LOG_FILE": str(home / "nvim.log")}
    )


@contextmanager
def neovim(home: Path, *files: Path, before: str = "", plugin: Path = PLUGIN) -> Iterator[Editor]:
    """A Neovim without the person's own settings. `before`: Lua that runs before the plugins are loaded."""
    home.mkdir(parents=True, exist_ok=True)
    init = home / "init.lua"
    init.write_text(f"vim.opt.rtp:prepend({json.dumps(str(plugin))})\n{before}\n{STUBS}", "utf-8")
    argv = [str(PROGRAM), "--embed", "--headless", "-u", str(init), "-n", "-i", "NONE", *map(str, files)]
    with patch.dict(os.environ, environment(home), clear=True):
        nvim = pynvim.attach("child", argv=argv)
    editor = Editor(nvim, home)
    # pynvim waits for ever for a Neovim that asks the person something: then the test fails by its end.
    pid = nvim.funcs.getpid()
    watchdog = threading.Timer(HANGS_AFTER, os.kill, (pid, signal.SIGKILL))
    watchdog.daemon = True
    watchdog.start()
    try:
        nvim.command("set columns=160 lines=45")
        yield editor
        if alive(pid):
            assert not (errors := editor.errors()), errors
    finally:
        quit_neovim(nvim)
        watchdog.cancel()


def quit_neovim(nvim: pynvim.Nvim) -> None:
    try:
        nvim.command("qall!")
    except (OSError, EOFError, pynvim.NvimError):
        pass  # it is gone, which is what was wanted
    finally:
        nvim.close()


def project(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """A folder with a marker and these files."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / ".git").mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder
