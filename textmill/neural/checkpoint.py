"""All that a killed training run needs to go on as if nothing had happened, in one file.

One safetensors file, renamed into place, holds the tensors (weights, optimiser moments, h and c,
best weights so far) and, as JSON in its header, the rest (step, history, sums since the last
look). Data position, learning rate and random masks are functions of the step and the seed, so
the step is all they need. One file cannot disagree with itself: killed at any moment, the last
whole checkpoint stands.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from textmill.base.errors import UserError
from textmill.base.files import replacing
from textmill.neural.model_files import save_tensors

NAME = "checkpoint.safetensors"


def save_checkpoint(
    scratch: Path, groups: Mapping[str, Mapping[str, Tensor]], facts: Mapping[str, Any]
) -> None:
    """Write groups of named tensors and JSON facts as one file."""
    tensors = {
        f"{group}/{name}": tensor.contiguous()
        for group, named in groups.items()
        for name, tensor in named.items()
    }
    with replacing(scratch / NAME) as temporary:
        save_tensors(tensors, temporary, {"facts": json.dumps(facts)})


def load_checkpoint(
    scratch: Path, *, key: Mapping[str, Any]
) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]] | None:
    """Groups and facts of the checkpoint, or None where there is none.

    key: what the facts must agree on; otherwise a UserError names the first difference.
    """
    path = scratch / NAME
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads(file.metadata()["facts"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise UserError(f"{path} is not whole ({error})", next_step=f"delete {scratch}") from None
    _check_key(path, facts["key"], key)
    groups: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        group, _, rest = name.partition("/")
        groups.setdefault(group, {})[rest] = tensor
    return groups, facts


def _check_key(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name in [*wanted, *found]:
        if found.get(name) != wanted.get(name):
            raise UserError(
                f"the checkpoint is of another run: {name} is {found.get(name)!r} there, "
                f"{wanted.get(name)!r} here",
                where=str(path),
                next_step=f"delete {path.parent}",
            )
