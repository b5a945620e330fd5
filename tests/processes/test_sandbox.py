"""Commands in the real sandbox: what it keeps away, what works in it all the same, and what it bounds."""

import os
import pwd
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from llamagent_server.processes.box import Box
from llamagent_server.processes.child import Bounds
from llamagent_server.processes.commands import Ran, Shelter, run, shell_argv
from llamagent_server.processes.environment import command_environment
from llamagent_server.processes.homes import boxed_environment, homes
from llamagent_server.processes.sandbox import NoSandbox, find_sandbox
from llamagent_server.processes.shell import ShellRunner
from llamagent_server.settings import SandboxPolicy, Settings
from llamagent_server.tools.run_command import told
from llamagent_server.workspace.guarded import reach

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only on Linux")

SECRET = "-".join(("KEY-THAT", "NOBODY", "MAY", "READ"))  # not to be found in this file


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home, with keys in it, that the workspace lies in."""
    home = tmp_path / "person"
    for name in (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".llamagent/trust.json", "x"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return home


@pytest.fixture
def project(home: Path) -> Path:
    root = home / "work/project"
    root.mkdir(parents=True)
    return root


class Shell:
    def __init__(self, *folders: Path, policy: SandboxPolicy = SandboxPolicy.ON) -> None:
        self.folders = folders
        settings = Settings(sandbox=policy, command_timeout=60)
        self.runner = ShellRunner(lambda: settings, self._reach)

    async def _reach(self, history: bool):  # type: ignore[no-untyped-def]
        return reach(self.folders, history=history)

    async def __call__(self, command: str, *, network: bool = False) -> Ran:
        return await self.runner.run(command, self.folders[0], network=network)


# --- What is kept away ----------------------------------------------------------------------------------------------


async def test_the_workspace_can_be_written_and_nothing_else(project: Path, home: Path, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    shell = Shell(project)
    ran = await shell(
        f"echo in >in.txt; echo t >/tmp/t; for f in {beside}/f {home}/f {home}/work/f /etc/f /usr/f /var/f /f; do "
        'touch $f 2>/dev/null && echo "made $f"; done; ls /tmp'
    )
    assert (project / "in.txt").read_text() == "in\n"
    assert not Path("/tmp/t").exists()
    assert list(beside.iterdir()) == []
    assert not (home / "f").exists()
    assert not (home / "work/f").exists()
    # Of what is made in an emptied place nothing is left; the others refuse.
    assert {line for line in ran.output.splitlines() if line.startswith("made")} <= {
        f"made {home}/f",
        f"made {home}/work/f",
        f"made {beside}/f",
    }
    assert ran.shelter is Shelter.SANDBOX


async def test_a_write_outside_is_said_in_one_line(project: Path) -> None:
    result = told(await Shell(project)("touch /etc/llamagent-test"), 4000)
    assert not result.ok
    assert "Only the project and /tmp can be written" in result.content.splitlines()[-1]


@pytest.mark.parametrize(
    "command",
    [
        "cat ~/.ssh/id_ed25519 ~/.netrc ~/.aws/credentials",
        "cat {home}/.config/gh/hosts.yml {home}/.llamagent/trust.json {home}/x",
        "grep -rs KEY-THAT {home} /tmp /run /home /root --exclude-dir=.pyenv --exclude-dir=.rustup",
        "cat /proc/1/root/{home}/.netrc /proc/self/root/{home}/.netrc",
        "cat ../../.ssh/id_ed25519",
        "ln -s {home}/.ssh/id_ed25519 link; cat link",
        "env; cat /proc/*/environ | tr '\\0' '\\n'",
    ],
)
async def test_the_homes_keys_cannot_be_read(
    project: Path, home: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    assert SECRET not in (await Shell(project)(command.format(home=home))).output


async def test_keys_are_hidden_where_the_home_itself_is_the_workspace(home: Path) -> None:
    ran = await Shell(home)("cat .ssh/id_ed25519 .netrc .config/gh/hosts.yml .llamagent/trust.json; cat x; echo y >x")
    assert ran.output.count(SECRET) == 1
    assert (home / "x").read_text() == "y\n"
    assert (home / ".netrc").read_text() == SECRET


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("network", [False, True])
async def test_a_socket_reaches_nothing_unless_the_person_gave_the_network(
    project: Path, listening: int, network: bool
) -> None:
    connect = f"import socket; socket.create_connection(('127.0.0.1', {listening}), 5); print('rea' + 'ched')"
    (project / "connect.py").write_text(connect)
    ran = await Shell(project)("python3 connect.py", network=network)
    assert ("reached" in ran.output) is network
    assert told(ran, 4000).wants_network is not network
    assert ran.shelter is (Shelter.SANDBOX_WITH_NETWORK if network else Shelter.SANDBOX)


async def test_sockets_of_the_persons_agents_are_not_there(project: Path, home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(home / "agent.sock"))
        server.listen()
        code = (
            f"import socket; socket.socket(socket.AF_UNIX).connect({str(home / 'agent.sock')!r}); print('rea' + 'ched')"
        )
        (project / "connect.py").write_text(code)
        for network in (False, True):
            assert "reached" not in (await Shell(project)("python3 connect.py", network=network)).output


async def test_no_other_process_is_seen_and_nothing_is_left(project: Path) -> None:
    ran = await Shell(project)("sleep 600 & (setsid sleep 600 &) ; ls -d /proc/[0-9]* | wc -l")
    assert int(ran.output) < 10
    assert ran.ending.left >= 2
    assert "that it had left running were ended" in told(ran, 4000).content


async def test_no_terminal_can_be_typed_into(project: Path) -> None:
    ran = await Shell(project)("cat /dev/tty; ls /dev/pts; python3 -c 'import os; print(os.getsid(0) != 0)'")
    assert "No such device or address" in ran.output


# --- What is bounded ------------------------------------------------------------------------------------------------


async def bounded(command: str, folder: Path, bounds: Bounds) -> Ran:
    env = command_environment(folder, base=os.environ)
    sandbox = find_sandbox((folder,), env)
    assert not isinstance(sandbox, NoSandbox), sandbox
    argv = sandbox.argv(shell_argv(command), Box(folder, (folder,)), env)
    return await run(argv, cwd=folder, env=env, timeout=60, bounds=replace(bounds, reports=True))


@pytest.mark.parametrize(
    "command",
    [
        "grow() { grow | grow & }; grow; sleep 60",
        # Out of the session and the group, and again and again.
        "for i in $(seq 200); do setsid sh -c 'sleep 60' & done; wait",
    ],
)
async def test_forks_without_end_are_stopped(project: Path, command: str) -> None:
    ran = await bounded(command, project, Bounds(processes=60))
    assert (ran.ending.limit, ran.timed_out) == ("processes", False)
    assert told(ran, 4000).content.startswith("Killed: it started more than 60 processes")
    assert _processes_in(project) == []


async def test_forks_without_end_are_stopped_without_a_sandbox_too(project: Path) -> None:
    """At most 150 of them, should nothing stop it."""
    env = command_environment(project, base=os.environ)
    storm = "for i in $(seq 150); do setsid sh -c 'sleep 60' & done; wait"
    ran = await run(shell_argv(storm), cwd=project, env=env, timeout=60, bounds=Bounds(processes=60))
    assert (ran.ending.limit, ran.timed_out) == ("processes", False)
    assert told(ran, 4000).content.startswith("Killed: it started more than 60 processes")
    assert _processes_in(project) == []


async def test_memory_without_end_is_stopped_however_many_share_it(project: Path) -> None:
    (project / "eat.py").write_text("import time\nkept = b'x' * (80 << 20)\ntime.sleep(60)\n")
    ran = await bounded("for i in 1 2 3 4 5; do python3 eat.py & done; wait", project, Bounds(memory=200 << 20))
    assert (ran.ending.limit, ran.timed_out) == ("memory", False)
    assert "it took more than 0.2 GB of memory" in told(ran, 4000).content


async def test_memory_that_forks_share_is_counted_once(project: Path) -> None:
    (project / "share.py").write_text(
        "import os, time\nkept = b'x' * (80 << 20)\npids = [os.fork() for _ in range(3)]\n"
        "time.sleep(1.5)\n[os.wait() for pid in pids if pid]\n"
    )
    ran = await bounded("python3 share.py 2>/dev/null", project, Bounds(memory=300 << 20))
    assert ran.ending.limit == ""


def _processes_in(folder: Path) -> list[str]:
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if link.readlink() == folder:
                found.append(link.parent.name)
        except OSError:
            continue
    return found


# --- What works -----------------------------------------------------------------------------------------------------


async def test_ordinary_work_is_done(project: Path) -> None:
    (project / "test_it.py").write_text("import tempfile\n\ndef test_it(tmp_path):\n    (tmp_path / 'x').touch()\n")
    shell = Shell(project)
    assert (await shell("git init -q")).ending.code == 0
    ran = await shell("python -m pytest -q && ls -d .pytest_cache && git status --short && git diff --stat")
    assert ran.ending.code == 0, ran.output
    assert "1 passed" in ran.output
    assert ".pytest_cache" in ran.output
    assert "test_it.py" in ran.output
    ran = await shell("node -e 'console.log(6 * 7)' && python3 -c 'import multiprocessing as m; m.Lock(); print(1)'")
    assert (ran.ending.code, ran.output) == (0, "42\n1\n"), ran.output


async def test_a_server_of_its_own_can_be_spoken_to(project: Path) -> None:
    code = (
        "import http.server, threading, urllib.request as u\n"
        "s = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
        "threading.Thread(target=s.serve_forever, daemon=True).start()\n"
        "print(u.urlopen(f'http://127.0.0.1:{s.server_port}/').status)\n"
    )
    (project / "serve.py").write_text(code)
    assert "200" in (await Shell(project)("python3 serve.py")).output


# --- What decides what runs -----------------------------------------------------------------------------------------


@pytest.fixture
def repository(project: Path) -> Path:
    for folder in (project, project / "deep/nested"):
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for name in (".vscode/tasks.json", ".envrc", ".llamagent/config.toml", ".idea/x.xml", ".husky/pre-commit"):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine\n")
    return project


@pytest.mark.parametrize(
    "command",
    [
        "echo evil >.git/hooks/pre-commit",
        "echo evil >>.git/config",
        "rm -rf .git",
        "mv .git away; mkdir .git; echo evil >.git/config",
        "mv .git/hooks .git/h2",
        "git config core.fsmonitor evil",
        "echo evil >deep/nested/.git/config",
        "mv deep/nested/.git deep/g; rm -rf deep/nested/.git; echo evil >deep/nested/.git/config",
        "echo evil >.vscode/tasks.json",
        "mv .vscode v; mkdir .vscode; echo evil >.vscode/tasks.json",
        "echo evil >.envrc; rm -f .envrc; ln -sf /etc/passwd .envrc",
        "echo evil >.llamagent/config.toml",
        "python3 -c \"open('.husky/pre-commit', 'w').write('evil')\"",
    ],
)
async def test_what_says_what_runs_cannot_be_changed_from_within(repository: Path, command: str) -> None:
    before = _guarded(repository)
    await Shell(repository)(command)
    after = _guarded(repository)
    assert {name: after.get(name) for name in before} == before


def _guarded(root: Path) -> dict[str, bytes]:
    names = [".git/config", ".git/hooks", "deep/nested/.git/config", ".vscode/tasks.json", ".envrc"]
    names += [".llamagent/config.toml", ".husky/pre-commit", ".git/hooks/pre-commit"]
    paths = [root / name for name in names if (root / name).exists()]
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else b"folder" for path in paths}


async def test_git_adds_to_the_history_by_itself_but_not_to_what_it_runs(repository: Path, home: Path) -> None:
    (home / ".gitconfig").write_text("[user]\nname = A\nemail = a@b\n")
    (repository / "a.txt").write_text("a\n")
    shell = Shell(repository)
    ran = await shell('git add a.txt && git commit -q -m "first (of two); really" && git checkout -q -b other')
    assert ran.ending.code == 0, ran.output
    ran = await shell("git log --format=%an:%s")
    assert ran.output == "A:first (of two); really\n"
    ran = await shell("touch b.txt; git add b.txt")
    assert "Read-only file system" in ran.output
    assert "git add and git commit by themselves work" in told(ran, 4000).content


async def test_a_gitconfig_with_a_password_is_not_shown(project: Path, home: Path) -> None:
    (home / ".gitconfig").write_text(f'[url "https://me:{SECRET}@host/"]\ninsteadOf = x:\n')
    assert SECRET not in (await Shell(project)("cat ~/.gitconfig; git config --list")).output


# --- Whether there is one -------------------------------------------------------------------------------------------


async def test_without_bubblewrap_auto_says_so_once_and_on_refuses(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "touch"):
        (programs / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(programs))
    shell = Shell(project, policy=SandboxPolicy.AUTO)
    first, second = await shell.runner.place(), await shell.runner.place()
    assert first.notice == (
        "Commands run without a sandbox. bubblewrap (bwrap) is not installed. Install the package bubblewrap."
    )
    assert (first.refusal, second.notice) == ("", "")
    assert (await shell("touch ran")).shelter is Shelter.NONE
    shell = Shell(project, policy=SandboxPolicy.ON)
    assert "Install the package bubblewrap." in (await shell.runner.place()).refusal
    ran = await shell("touch never")
    assert (ran.ending.error or "").startswith("bubblewrap (bwrap) is not installed")
    assert {path.name for path in project.iterdir()} == {"ran"}


async def test_one_that_does_not_work_is_found_out_by_trying(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "bwrap").write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    (programs / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    place = await Shell(project, policy=SandboxPolicy.AUTO).runner.place()
    assert not place.sandboxed
    assert "setting up uid map: Permission denied" in place.notice


async def test_a_bubblewrap_that_the_workspace_brings_is_not_taken(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "bwrap").write_text("#!/bin/sh\ntouch planted\n")
    (project / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{project}:/usr/bin:/bin")
    await Shell(project, policy=SandboxPolicy.AUTO).runner.place()
    assert not (project / "planted").exists()


async def test_off_runs_without_and_says_nothing(project: Path) -> None:
    shell = Shell(project, policy=SandboxPolicy.OFF)
    place = await shell.runner.place()
    assert (place.sandboxed, place.notice, place.refusal) == (False, "", "")
    assert (await shell("true")).shelter is Shelter.NONE


def test_the_whole_file_system_is_no_workspace_for_a_sandbox() -> None:
    assert isinstance(find_sandbox((Path("/"),), os.environ), NoSandbox)


def test_variables_that_hold_keys_or_lead_to_agents_are_left_out() -> None:
    env = dict.fromkeys(
        "GITHUB_TOKEN OPENAI_API_KEY AWS_ACCESS_KEY_ID AWS_SESSION_TOKEN DB_PASSWORD SSH_AUTH_SOCK NPM_TOKEN "
        "DBUS_SESSION_BUS_ADDRESS CARGO_REGISTRY_TOKEN PATH KEYBOARD TOKENIZERS_PARALLELISM PYTEST_ADDOPTS".split(),
        "x",
    )
    assert set(boxed_environment(env)) == {"PATH", "KEYBOARD", "TOKENIZERS_PARALLELISM", "PYTEST_ADDOPTS"}


def test_a_home_is_found_by_the_variable_and_by_the_account(home: Path) -> None:
    assert home in homes({"HOME": str(home)})
    account = pwd.getpwuid(os.getuid()).pw_dir
    assert [str(home) for home in homes({})] == ([os.path.realpath(account)] if Path(account).is_dir() else [])


async def test_places_that_one_may_not_look_into_are_passed_over(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shut = tmp_path / "shut"
    (shut / "bin").mkdir(parents=True)
    (shut / "bin/python").symlink_to("/usr/bin/python3")
    shut.chmod(0)
    too_long = f"/{'x' * 300}/bin"
    monkeypatch.setenv("PATH", f"{shut}/bin:{too_long}:{os.environ['PATH']}")
    monkeypatch.setenv("VIRTUAL_ENV", str(shut / "venv"))
    monkeypatch.setenv("JAVA_HOME", too_long)
    (home / ".config/shut").mkdir(parents=True)
    ran = await Shell(project)("echo works")
    shut.chmod(0o700)
    assert (ran.output, ran.shelter, ran.ending.error) == ("works\n", Shelter.SANDBOX, None)
