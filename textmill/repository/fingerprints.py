"""The input fingerprint: what a stage read, as one hash over its files and parameters.

It names the scratch folder in which a killed stage's work waits for the next start, and the file
of facts about a run. Another input is another name, so work is never resumed on the wrong data.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from textmill.base.errors import UserError
from textmill.base.files import sha256_of
from textmill.repository.stages import Stage, declared_params


def input_fingerprint(stage: Stage, root: Path = Path()) -> str:
    """sha256 over the stage's command, declared parameters and the bytes of its dependencies."""
    params = json.dumps(declared_params(stage, root), sort_keys=True, default=str)
    digest = hashlib.sha256(f"{stage.command}\n{params}\n".encode())
    for dependency in sorted(stage.deps):
        for path in _files(root / dependency):
            digest.update(f"{path.relative_to(root)} {sha256_of(path)}\n".encode())
    return digest.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise UserError(f"there is no {path}", next_step="dvc repro")
    if path.is_file():
        yield path
        return
    for file in sorted(path.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file
