"""The user's own text: which files a path means, and the digest that pins them.

DVC cannot watch a path that a parameter chooses, so the parameters carry a digest of the text as
well. It covers the sorted relative names and the bytes of the files, nothing else: the same
folder in another place, or copied at another time, has the same digest.
"""

import glob
import hashlib
import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from textmill.base.errors import UserError
from textmill.base.files import sha256_of
from textmill.text.catalogue import Corpus

_SUFFIX = ".txt"


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file and the name under which it enters the corpus (relative, with `/`)."""

    name: str
    path: Path


def find(text: str) -> list[LocalFile]:
    """The files that `text` means, sorted by name: a file, a folder, or a pattern.

    A folder means its `*.txt` files, those in sub-folders included; a pattern (`*`, `?`, `[]`,
    `**`) means the files that fit it. Hidden files are left out. No file at all is a UserError.
    """
    path = Path(text).expanduser()
    if path.is_file():
        found = [LocalFile(path.name, path)]
    elif path.is_dir():
        found = _in_folder(path)
    elif glob.has_magic(text):
        found = _fitting(str(path))
    else:
        raise UserError(f"there is no file or folder {text}", next_step=pin_command(text))
    if not found:
        wanted = f"no {_SUFFIX} file in the folder" if path.is_dir() else "no file fits the pattern"
        raise UserError(
            f"{wanted} {text}", next_step=f"name a file, a folder with {_SUFFIX} files or a pattern"
        )
    for file in found:
        _check_name(file)
    return sorted(found, key=lambda file: file.name)


def digest(text: str) -> tuple[list[LocalFile], str]:
    """The files of a path, folder or pattern, and the sha256 over their names and bytes."""
    files = find(text)
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.name}\0{sha256_of(file.path)}\n".encode())
    return files, total.hexdigest()


def pin_text(text: str, relative_to: Path | None = None) -> dict[str, str | int]:
    """What to write into the entry of one's own text: path, digest, files, bytes.

    The path becomes absolute, so that it holds in any working copy; a text inside `relative_to`
    (the repository) is written relative to it, so that it holds on any machine.
    """
    files, found = digest(text)
    path = Path(text).expanduser().resolve()
    if relative_to is not None and path.is_relative_to(relative_to.resolve()):
        path = path.relative_to(relative_to.resolve())
    size = sum(file.path.stat().st_size for file in files)
    return {"path": str(path), "digest": found, "files": len(files), "bytes": size}


def gather(name: str, corpus: Corpus) -> list[LocalFile]:
    """The files of a pinned text. Raises UserError when the text no longer matches its pin."""
    if not corpus.path:
        raise UserError(
            "no text is pinned yet", where=f"corpus {name}", next_step="textmill pin PATH"
        )
    files, found = digest(corpus.path)
    if found != corpus.digest:
        size = sum(file.path.stat().st_size for file in files)
        raise UserError(
            f"{corpus.path} no longer matches its pin: pinned were {corpus.files:,} file(s) of "
            f"{corpus.bytes:,} bytes, digest {corpus.digest}; now there are {len(files):,} of "
            f"{size:,} bytes, digest {found}",
            where=f"corpus {name}",
            next_step=pin_command(corpus.path),
        )
    return files


def pin_command(text: str) -> str:
    """The command that pins `text`, ready to paste."""
    return f"textmill pin {shlex.quote(text)}"


def _in_folder(folder: Path) -> list[LocalFile]:
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(parent, name)
            if path.suffix.lower() == _SUFFIX and not name.startswith(".") and path.is_file():
                found.append(LocalFile(path.relative_to(folder).as_posix(), path))
    return found


def _fitting(pattern: str) -> list[LocalFile]:
    parts = Path(pattern).parts
    fixed = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    base = Path(*parts[:fixed])
    found = []
    for path in base.glob("/".join(parts[fixed:])):
        name = path.relative_to(base)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            found.append(LocalFile(name.as_posix(), path))
    return found


def _check_name(file: LocalFile) -> None:
    try:
        file.name.encode()
    except UnicodeEncodeError:
        raise UserError(
            f"the file name {file.name!r} is not UTF-8", next_step="rename the file"
        ) from None
