"""`init_from`: begin with another model's weights; optimiser, schedule and step begin anew.

Going on from a checkpoint is another thing: that is the same run. The folder's weights are named by
their sha256, because DVC does not see a change of a file that a parameter names.
"""

from pathlib import Path

import torch

from textmill.base.errors import UserError
from textmill.base.files import sha256_of
from textmill.neural.config import NetworkConfig
from textmill.neural.model_files import WEIGHTS, load_model
from textmill.tokenizers.vocabulary import Vocabulary

SHAPE = (
    "architecture",
    "embedding",
    "hidden",
    "layers",
    "nonlinearity",
    "window",
    "head",
    "cutoffs",
    "tied",
)
"""What decides what the weights are. Implementations of a cell and of a softmax share them."""


def _shape_of(config: NetworkConfig, name: str, size: int) -> object:
    """A field as far as it decides about shapes: all heads but the adaptive one have the same, and
    attention has the same weights however far it looks.
    """
    if name == "head" and config.head != "adaptive":
        return "full"
    if name == "window" and config.architecture == "attention_lstm":
        return None
    if name == "cutoffs":
        return config.cutoffs_of(size) if config.head == "adaptive" else None
    return getattr(config, name)


def begin_from(network: torch.nn.Module, config: NetworkConfig, vocabulary: Vocabulary) -> None:
    """Copy the weights of `config.init_from`, if given, into `network`.

    UserError for a folder without weights, another vocabulary, another shape (naming the field) or
    other weights than those that `init_from_sha256` names.
    """
    if config.init_from is None:
        return
    folder = Path(config.init_from)
    if not (folder / WEIGHTS).is_file():
        raise UserError(
            f"there are no weights in {folder}",
            where="init_from",
            next_step="name the folder of a finished model, or leave init_from out",
        )
    found, weights = load_model(folder, vocabulary)
    for name in SHAPE:
        there, here = (_shape_of(one, name, len(vocabulary)) for one in (found, config))
        if there != here:
            raise UserError(
                f"{name} is {there!r} in {folder}, {here!r} here",
                where="init_from",
                next_step=f"set {name} as it is there, or leave init_from out",
            )
    digest = sha256_of(folder / WEIGHTS)
    if digest != config.init_from_sha256:
        raise UserError(
            f"{folder / WEIGHTS} has sha256 {digest}",
            where="init_from_sha256",
            next_step=f"if these are the weights to begin with: init_from_sha256: {digest}",
        )
    network.load_state_dict(weights)
