"""Names of files that hold keys and passwords: what is in them is shown to the model only after the person's yes."""

import unicodedata
from collections.abc import Sequence

_NAMES = frozenset(
    (
        ".env .envrc .npmrc .yarnrc .yarnrc.yml .pypirc .netrc _netrc .git-credentials .pgpass .my.cnf .htpasswd "
        ".vault-token .dockercfg .dockerconfigjson .s3cfg .boto .terraformrc id_rsa id_dsa id_ecdsa id_ed25519 "
        "id_ecdsa_sk id_ed25519_sk credentials.json credentials.toml secrets.json secrets.yml secrets.yaml "
        "secrets.toml secrets.env master.key service-account.json service_account.json "
        "application_default_credentials.json"
    ).split()
)
_ENDINGS = tuple(".pem .key .p12 .pfx .jks .keystore .kdbx .ppk .tfvars .tfstate .ovpn .mobileprovision .asc".split())
# Shown as they are: by their names they are there to be read.
_EXAMPLES = ("example", "sample", "template", "dist", "defaults", "tpl")
_FOLDERS = frozenset(".ssh .aws .gnupg .kube .azure .docker".split())


def secret(parts: Sequence[str]) -> bool:
    """Whether the file that the names `parts` lead to is one that holds keys or passwords."""
    plain = [unicodedata.normalize("NFKC", part).casefold() for part in parts]
    if not plain:
        return False
    name = plain[-1]
    if any(part in _FOLDERS for part in plain[:-1]) or (name == "config" and ".git" in plain[:-1]):
        return True
    if name.startswith(".env."):
        return name.rpartition(".")[2] not in _EXAMPLES
    return name in _NAMES or name.endswith(_ENDINGS)


def names_secret(word: str) -> bool:
    """Whether a word of a command names such a file."""
    path = word.rpartition("=")[2].rpartition(":")[2]
    return secret([part for part in path.split("/") if part not in ("", ".")])
