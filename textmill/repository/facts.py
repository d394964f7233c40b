"""Volatile facts of a run (seconds, memory, device): kept beside DVC's outputs, never in them.

A time inside an output would change its hash with every run. So facts go to
`.textmill/facts/<input fingerprint>.json`, ignored by git and DVC, and are joined when shown.
"""

from pathlib import Path
from typing import Any

from textmill.base.files import read_json, write_json
from textmill.repository import layout


def record(fingerprint: str, facts: dict[str, Any], root: Path = Path()) -> None:
    """Add facts to those of this fingerprint."""
    known = read(fingerprint, root)
    write_json(_path(fingerprint, root), {**known, **facts})


def read(fingerprint: str, root: Path = Path()) -> dict[str, Any]:
    """The facts of this fingerprint; empty where this machine has not run it."""
    path = _path(fingerprint, root)
    return dict(read_json(path)) if path.exists() else {}


def _path(fingerprint: str, root: Path) -> Path:
    return root / layout.FACTS / f"{fingerprint}.json"
