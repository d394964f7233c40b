"""A finished network on disk: `model.json`, `weights.safetensors` and `history.csv`.

Tied matrices are stored once. The vocabulary's fingerprint stands in `model.json`, and a network
is never loaded over another vocabulary: ids would silently mean other words.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from textmill.base.errors import UserError
from textmill.base.files import read_sealed, replacing_folder, sha256_of, write_sealed
from textmill.neural.config import NetworkConfig
from textmill.tokenizers.vocabulary import Vocabulary

FORMAT = "textmill network 4"
WEIGHTS = "weights.safetensors"
_OS_ERROR = re.compile(r"\(os error (\d+)\)")


def save_model(
    folder: Path, facts: Mapping[str, Any], weights: Mapping[str, Tensor], history: str
) -> None:
    """Write the three files; the folder arrives whole, by rename. `facts` hold no clock."""
    with replacing_folder(folder) as temporary:
        save_tensors(weights, temporary / WEIGHTS)
        digest = sha256_of(temporary / WEIGHTS)
        content = {"format": FORMAT, **facts, "weights_sha256": digest}
        write_sealed(temporary / "model.json", content)
        (temporary / "history.csv").write_text(history)


def save_tensors(
    tensors: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file. OSError where the system refuses it: the library has its own.

    Who may read it is as of any new file; the library would let the owner alone.
    """
    path.touch()
    mode = path.stat().st_mode
    try:
        save_file(dict(tensors), path, metadata)
        path.chmod(mode)
    except SafetensorError as error:
        number = _OS_ERROR.search(str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error


def load_model(folder: Path, vocabulary: Vocabulary) -> tuple[NetworkConfig, dict[str, Tensor]]:
    """Configuration and weights.

    UserError for another format, another vocabulary, or weights that are not those of model.json.
    """
    facts = read_sealed(folder / "model.json", "format", "vocabulary", "config")
    if facts["format"] != FORMAT:
        raise UserError(f"{folder} holds no {FORMAT} model", next_step="dvc repro")
    if facts["vocabulary"] != vocabulary.fingerprint:
        raise UserError(
            f"{folder} was trained over another vocabulary "
            f"({facts['vocabulary'][:12]}, not {vocabulary.fingerprint[:12]})",
            next_step="dvc repro",
        )
    path, again = folder / WEIGHTS, f"delete {folder}, then: dvc repro"
    try:
        weights = load_file(path)
        digest = sha256_of(path)
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} is not whole ({error})", next_step=again) from None
    if digest != facts.get("weights_sha256"):
        raise UserError(
            f"{path} is damaged: it is not the file that model.json describes", next_step=again
        )
    return NetworkConfig.from_json(facts["config"]), weights
