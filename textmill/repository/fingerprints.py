"""The input fingerprint: what a stage read, as one hash over its files and parameters.

It names the scratch folder in which a killed stage's work waits for the next start, and the file
of facts about a run. Another input is another name, so work is never resumed on the wrong data.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from textmill.base.errors import UserError
from textmill.base.files import sha256_of
from textmill.repository import layout
from textmill.repository.stages import Stage, declared_params

COMMAND, PARAMETERS = f"its command in {layout.GRAPH}", f"its parameters in {layout.PARAMS}"


def input_fingerprint(stage: Stage, root: Path = Path()) -> str:
    """sha256 over the stage's command, declared parameters and the bytes of its dependencies."""
    return fingerprint_of(read_inputs(stage, root))


def read_inputs(stage: Stage, root: Path = Path()) -> dict[str, str]:
    """What a stage reads: its command, its parameters as JSON, and the sha256 of every file."""
    params = json.dumps(declared_params(stage, root), sort_keys=True, default=str)
    read = {COMMAND: stage.command, PARAMETERS: params}
    for dependency in sorted(stage.deps):
        for path in _files(root / dependency):
            read[str(path.relative_to(root))] = sha256_of(path)
    return read


def fingerprint_of(read: Mapping[str, str]) -> str:
    """The input fingerprint of what `read_inputs` found."""
    digest = hashlib.sha256(f"{read[COMMAND]}\n{read[PARAMETERS]}\n".encode())
    for name, sha256 in read.items():
        if name not in (COMMAND, PARAMETERS):
            digest.update(f"{name} {sha256}\n".encode())
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
