"""Volatile facts of a run (seconds, memory, device, versions, commit), beside DVC's outputs.

A time inside an output would change its hash with every run. So facts go to
`.textmill/facts/<input fingerprint>.json`, ignored by git and DVC, and are joined when shown.
"""

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from textmill.base.errors import UserError
from textmill.base.files import read_json, write_json
from textmill.repository import layout

LIBRARIES = ("textmill", "numpy", "pyarrow", "safetensors", "sentencepiece", "torch")
"""Packages whose version can change what a stage writes."""
NOT_LOCK = ":(exclude)dvc.lock"
"""DVC writes into its lock while stages run: that makes no checkout dirty."""


def record(fingerprint: str, facts: dict[str, Any], root: Path = Path()) -> None:
    """Add facts to those of this fingerprint."""
    write_json(_path(fingerprint, root), {**to_add_to(fingerprint, root), **facts})


def to_add_to(fingerprint: str, root: Path = Path()) -> dict[str, Any]:
    """The facts of this fingerprint; none where their file is damaged, which is written anew."""
    try:
        return read(fingerprint, root)
    except UserError:
        return {}


def read(fingerprint: str, root: Path = Path()) -> dict[str, Any]:
    """The facts of this fingerprint; empty where this machine has not run it."""
    path = _path(fingerprint, root)
    return dict(read_json(path)) if path.exists() else {}


def versions() -> dict[str, str]:
    """Versions of Python and of every library that can change what a stage writes."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a checkout that runs its own code without being installed
            continue
    return found


def commit(root: Path = Path()) -> dict[str, Any]:
    """`commit` and whether the checkout differs from it (`dirty`); empty outside of git."""
    try:
        head = _git(root, "rev-parse", "HEAD")
        return {"commit": head, "dirty": bool(_git(root, "status", "--porcelain", NOT_LOCK))}
    except (OSError, subprocess.CalledProcessError):
        return {}


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _path(fingerprint: str, root: Path) -> Path:
    return root / layout.FACTS / f"{fingerprint}.json"
