"""What of a person's home and environment a sandbox hides, and what of the home programs need all the same."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from llamagent_server.processes.there import is_folder, is_link, is_there

# Below the home folder: keys, tokens, histories. Where the home cannot be hidden as a whole, these are.
SECRETS = (
    ".ssh .gnupg .aws .azure .config/gcloud .config/gh .config/glab-cli .config/hub .config/op .config/doctl "
    ".config/configstore .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge "
    ".config/git/credentials .config/rclone .config/containers .config/sops .config/github-copilot .config/Bitwarden "
    ".mozilla .thunderbird .kube .docker .netrc ._netrc .npmrc .yarnrc .pypirc .git-credentials .pgpass .my.cnf "
    ".vault-token .terraform.d .password-store .llamagent .local/share/keyrings .local/share/kwalletd "
    ".config/1Password .cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml "
    ".m2/settings-security.xml .gradle/gradle.properties .bash_history .zsh_history .python_history .node_repl_history "
    ".psql_history .mysql_history .sqlite_history .lesshst .viminfo .Xauthority .ICEauthority Library/Keychains "
    "Library/Cookies Library/Mail Library/Messages Library/Safari"
).split()
# Below the home folder: programs and what these need to run. Shown read-only where the home is hidden.
TOOLS = (
    ".pyenv .rbenv .rvm .nodenv .nvm .volta .fnm .asdf .sdkman .jenv .goenv .tfenv .rustup .cargo/bin .cargo/registry "
    ".cargo/git .ghcup .cabal/bin .stack/programs .opam .juliaup .julia .deno .bun .dotnet .nix-profile .conda "
    "miniconda3 anaconda3 miniforge3 mambaforge micromamba go/bin go/pkg .gem/ruby .m2/repository .m2/wrapper "
    ".gradle/wrapper .gradle/caches .local/bin .local/lib .local/opt .local/pipx .local/share/pipx .local/share/uv "
    ".local/share/mise .local/share/rtx .local/share/pnpm .local/share/virtualenvs .local/share/virtualenv "
    ".local/share/fnm .local/state/nix .npm-global .yarn/bin .config/yarn/global .linuxbrew bin"
).split()
# Variables that name folders of tools.
TOOL_VARIABLES = (
    "VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT NVM_DIR VOLTA_HOME ASDF_DIR ASDF_DATA_DIR SDKMAN_DIR RUSTUP_HOME JAVA_HOME "
    "GOROOT DOTNET_ROOT DENO_INSTALL BUN_INSTALL PNPM_HOME NIX_PROFILES"
).split()
# Beside the folder of programs, in a folder that is all one tool.
_SIGNS_OF_TOOLS = ("pyvenv.cfg", "lib/node_modules", "libexec", "versions", "include")
PATH_VARIABLES = ("PATH", "PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH")

_SECRET_VARIABLE = re.compile(
    r"(?:^|_)(?:TOKENS?|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|PAT|APIKEY|(?:API|ACCESS|SECRET|PRIVATE|AUTH|ENCRYPTION|"
    r"SIGNING)_?KEYS?(?:_ID)?|CREDENTIALS?|COOKIE)(?:_|$)",
    re.IGNORECASE,
)
# They lead to agents and desktops that would act for the person.
_AGENTS = (
    "SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR DISPLAY WAYLAND_DISPLAY "
    "XAUTHORITY DOCKER_HOST KUBECONFIG SSH_CONNECTION SSH_CLIENT SSH_TTY VSCODE_IPC_HOOK VSCODE_IPC_HOOK_CLI "
    "VSCODE_GIT_IPC_HANDLE VSCODE_GIT_ASKPASS_NODE VSCODE_GIT_ASKPASS_MAIN GIT_ASKPASS SSH_ASKPASS NVIM "
    "NVIM_LISTEN_ADDRESS TMUX STY"
).split()


def boxed_environment(env: Mapping[str, str]) -> dict[str, str]:
    """`env` without the person's keys and the ways to their agents."""
    return {name: value for name, value in env.items() if name not in _AGENTS and not _SECRET_VARIABLE.search(name)}


def homes(env: Mapping[str, str]) -> tuple[Path, ...]:
    """The person's home folder, real paths: as the variable says, and as the system does."""
    named = (env.get("HOME"), _home_of_account())
    found = [Path(os.path.realpath(name)) for name in named if name and Path(name).is_absolute()]
    return tuple(dict.fromkeys(home for home in found if is_folder(home) and home != Path("/")))


def _home_of_account() -> str | None:
    if sys.platform == "win32":
        return None
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None


def tool_folders(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Where programs are and what they need, in the person's home and elsewhere: real paths of folders."""
    known = homes(env)
    # The Python of ours is the one that a project without its own is given.
    named = [Path(sys.prefix), Path(sys.base_prefix)]
    named += [home / tool for home in known for tool in TOOLS]
    named += [Path(env[name]) for name in TOOL_VARIABLES if env.get(name)]
    for name in PATH_VARIABLES:
        for entry in filter(None, env.get(name, "").split(os.pathsep)):
            folder = Path(entry)
            named.append(folder)
            if any(is_there(folder.parent / sign) for sign in _SIGNS_OF_TOOLS) and folder.parent not in known:
                named.append(folder.parent)
            # The Python of an environment is elsewhere: its link leads there.
            links = [folder / python for python in ("python", "python3")]
            named += [Path(os.path.realpath(link)).parents[1] for link in links if is_link(link)]
    found = [Path(os.path.realpath(path)) for path in named if path.is_absolute()]
    # A home, or the settings in it, may be named only by mistake.
    real = [path for path in found if path not in known and path.name not in (".config", ".local", ".cache")]
    return tuple(dict.fromkeys(path for path in real if is_folder(path)))
