"""DVC's hashes, computed anew from the bytes on disk.

DVC keeps the hash of a file beside its time and size and believes it while those stay. Whoever
wants to know what is really there reads every byte. A file's md5 is that of its bytes; a folder's
is the md5 of a JSON list of its files, sorted by path, and ends in `.dir`.
"""

import hashlib
import json
from fnmatch import fnmatchcase
from pathlib import Path

from textmill.base.errors import UserError

DVCIGNORE = Path(".dvcignore")
FOLDER = ".dir"


def md5_of(path: Path) -> str:
    """md5 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def members(folder: Path, ignored: tuple[str, ...] = ()) -> dict[str, str]:
    """md5 of every file below a folder, by its path relative to it, but for `ignored` names."""
    return {
        relative.as_posix(): md5_of(folder / relative)
        for relative in sorted(file.relative_to(folder) for file in folder.rglob("*"))
        if (folder / relative).is_file() and not _is_ignored(relative, ignored)
    }


def folder_md5(files: dict[str, str]) -> str:
    """The md5 that DVC gives a folder of these files."""
    listed = [{"md5": files[name], "relpath": name} for name in sorted(files)]
    text = json.dumps(listed, sort_keys=True)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() + FOLDER


def dvc_md5(path: Path, root: Path = Path()) -> str:
    """What dvc.lock would say of a file or folder; UserError where there is none."""
    if (root / path).is_dir():
        return folder_md5(members(root / path, ignored_names(root)))
    if (root / path).is_file():
        return md5_of(root / path)
    raise UserError(f"there is no {path}", next_step=f"dvc pull {path}, or: dvc repro")


def ignored_names(root: Path = Path()) -> tuple[str, ...]:
    """The patterns of `.dvcignore`; in this repository each of them is the name of a file."""
    path = root / DVCIGNORE
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def _is_ignored(relative: Path, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(part, pattern) for part in relative.parts for pattern in patterns)
