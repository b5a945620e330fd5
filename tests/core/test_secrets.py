"""Which names are those of files with keys, and that no allowed command shows them without asking."""

import pytest

from llamagent_server.core.policy import may_run
from llamagent_server.core.secrets import secret


@pytest.mark.parametrize(
    "path",
    [
        ".env", "a/.env.local", ".ENV", ".env.production", ".envrc", ".npmrc", ".pypirc", ".netrc", "keys/id_rsa",
        "id_ed25519", "server.pem", "tls.KEY", ".git/config", "sub/.git/config", ".ssh/known_hosts", ".aws/credentials",
        "prod.tfvars",
        "\uff0eenv", "store.p12", ".docker/config.json",
    ],
)  # fmt: skip
def test_a_file_with_keys_is_known_by_its_name(path: str) -> None:
    assert secret(path.split("/"))


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        ".env.sample",
        "env",
        "id_rsa.pub",
        "keys.py",
        "config",
        ".gitconfig.md",
        "monkey",
        "src/.git",
        "",
    ],
)
def test_others_are_not(path: str) -> None:
    assert not secret(path.split("/"))


@pytest.mark.parametrize(
    "command",
    ["cat .env", "cat ./a/.env.local", "grep -r x .env", "head id_rsa", "git show HEAD:.env"],
)
def test_an_allowed_command_that_names_one_asks(command: str) -> None:
    assert not may_run(command, [command.split()[0]])
    assert may_run("cat a.env.py", ["cat"])
