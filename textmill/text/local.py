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
from difflib import get_close_matches
from pathlib import Path

from textmill.base.errors import UserError
from textmill.base.files import sha256_of
from textmill.text import kinds
from textmill.text.catalogue import Corpus
from textmill.text.documents import DocumentKind
from textmill.text.rows import suffix_of


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file and the name under which it enters the corpus (relative, with `/`)."""

    name: str
    path: Path


def find(text: str, kind: DocumentKind = "file") -> list[LocalFile]:
    """The files that `text` means, sorted by name: a file, a folder, or a pattern.

    A folder means its `*.txt` files (where documents are rows: the files that rows are read from,
    also compressed), those in sub-folders included; a pattern (`*`, `?`, `[]`,
    `**`) means the files that fit it. Hidden files are left out, links to folders not followed.
    No file at all, one that cannot be read, or one without rows where they are wanted, is a
    UserError.
    """
    path = expanded(text)
    if path.is_file():
        found = [LocalFile(path.name, path)]
    elif path.is_dir():
        found = [file for file in _in_folder(path) if kinds.is_wanted(file.name, kind)]
    elif glob.has_magic(text):
        found = _fitting(path)
    else:
        raise _missing(text, path)
    if not found:
        raise _nothing(text, path, kind)
    for file in found:
        _check_file(file.path)
        _check_name(file.name)
        if kind == "row":
            suffix_of(kinds.unpacked_name(file.name))
    return sorted(found, key=lambda file: file.name)


def left_out(text: str, kind: DocumentKind) -> list[str]:
    """Names of a folder's files that are none of the text; of a file or pattern there are none."""
    path = expanded(text)
    found = _in_folder(path) if path.is_dir() else []
    return [file.name for file in found if not kinds.is_wanted(file.name, kind)]


def expanded(text: str) -> Path:
    """The path with `~` and `~user` filled in."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        user = text.partition("/")[0]
        raise UserError(
            f"there is no home folder {user} for {text}",
            next_step=f"write the path out, or ./{text} if the name itself begins with ~",
        ) from None


def digest(text: str, kind: DocumentKind = "file") -> tuple[list[LocalFile], str]:
    """The files of a path, folder or pattern, and the sha256 over their names and bytes."""
    files = find(text, kind)
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.name}\0{sha256_of(file.path)}\n".encode())
    return files, total.hexdigest()


def pin_text(
    text: str, relative_to: Path | None = None, kind: DocumentKind = "file"
) -> dict[str, str | int]:
    """What to write into the entry of one's own text: path, digest, files, bytes.

    The path becomes absolute, so that it holds in any working copy; a text inside `relative_to`
    (the repository) is written relative to it, so that it holds on any machine. A text of no
    bytes is a UserError.
    """
    files, found = digest(text, kind)
    size = _size(files)
    if not size:
        holds = f"{len(files):,} files of 0 bytes" if len(files) > 1 else "0 bytes"
        raise UserError(
            f"there is no text in {text}: {holds}", next_step="name a file or folder with text"
        )
    path = absolute(text)
    if relative_to is not None and path.is_relative_to(relative_to.resolve()):
        path = path.relative_to(relative_to.resolve())
    _check_name(str(path))
    return {"path": str(path), "digest": found, "files": len(files), "bytes": size}


def absolute(text: str) -> Path:
    """The path with its folders resolved but its own name kept: a link is called by its name."""
    path = expanded(text)
    return path.parent.resolve() / path.name if path.name not in ("", "..") else path.resolve()


def title_of(text: str) -> str:
    """How a pinned text is called: `book.txt`, `essays/`, `notes/*.md`."""
    path = absolute(text)
    if path.exists() or not glob.has_magic(text):
        return path.name + ("/" if path.is_dir() else "")
    base, rest = _base_and_pattern(path)
    return f"{base.name}/{rest}"


def gather(name: str, corpus: Corpus) -> list[LocalFile]:
    """The files of a pinned text. Raises UserError when the text no longer matches its pin."""
    if not corpus.path:
        raise UserError(
            "no text is pinned yet", where=f"corpus {name}", next_step="textmill pin PATH"
        )
    try:
        files, found = digest(corpus.path, corpus.documents)
    except UserError as error:
        ways = f"{error.next_step}; or pin another text: textmill pin PATH"
        raise UserError(error.what, where=f"corpus {name}", next_step=ways) from None
    if found != corpus.digest:
        raise UserError(
            f"{corpus.path} no longer matches its pin: pinned were {corpus.files:,} file(s) of "
            f"{corpus.bytes:,} bytes, digest {corpus.digest}; now there are {len(files):,} of "
            f"{_size(files):,} bytes, digest {found}",
            where=f"corpus {name}",
            next_step=pin_command(corpus.path),
        )
    return files


def pin_command(text: str) -> str:
    """The command that pins `text`, ready to paste."""
    return f"textmill pin {shlex.quote(text)}"


def _size(files: list[LocalFile]) -> int:
    return sum(file.path.stat().st_size for file in files)


def _nothing(text: str, path: Path, kind: DocumentKind) -> UserError:
    if not path.is_dir():
        endings = " or ".join(kinds.wanted(kind))
        next_step = f"name a file, a folder with {endings} files or a pattern"
        return UserError(f"no file fits the pattern {text}", next_step=next_step)
    *others, last = kinds.wanted(kind)
    endings = f"{', '.join(others)} or {last}" if others else last
    there = kinds.tally(left_out(text, kind))
    return UserError(
        f"no {endings} file in the folder {text}" + (f" (there are {there})" if there else ""),
        next_step=f"name a file, a folder with {endings} files or a pattern"
        + ("" if kind == "row" else "; for rows set corpora.local.documents: row"),
    )


def _missing(text: str, path: Path) -> UserError:
    """Names the first part of the path that is not there, and the nearest name beside it."""
    full = path.absolute()
    there = next(parent for parent in full.parents if parent.is_dir())
    first = there / full.relative_to(there).parts[0]
    if os.path.lexists(first):
        kind = "not a folder" if first.is_file() else "not a file"
        why = f"{first} is {kind}" if first.exists() else f"{first} is a broken link"
    else:
        why = f"no {first.name} in {there.resolve()}{_nearest(first.name, there)}"
    help_ = "check the spelling" if path.is_absolute() else f"a path counts from {Path.cwd()}"
    return UserError(f"there is no file or folder {text} ({why})", next_step=help_)


def _nearest(name: str, folder: Path) -> str:
    """A hint at a name that differs by a slip. All share `.txt`, so they must be much alike."""
    found = get_close_matches(name, [entry.name for entry in _listed(folder)], n=1, cutoff=0.75)
    return f'; did you mean "{found[0]}"?' if found else ""


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise _unreadable(error) from None


def _unreadable(error: OSError) -> UserError:
    return UserError(
        f"cannot read the folder {error.filename} ({error.strerror})",
        next_step="give access there, or name the files that are meant by a pattern",
    )


def _in_folder(folder: Path) -> list[LocalFile]:
    def stop(error: OSError) -> None:
        raise _unreadable(error)

    found = []
    for parent, folders, names in os.walk(folder, onerror=stop):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(parent, name)
            if not name.startswith("."):
                found.append(LocalFile(path.relative_to(folder).as_posix(), path))
    return found


def _fitting(pattern: Path) -> list[LocalFile]:
    base, rest = _base_and_pattern(pattern)
    found = []
    try:
        _check_folders(base, rest)
        for path in base.glob(rest):
            name = path.relative_to(base)
            if path.is_file() and not _is_hidden(name):
                found.append(LocalFile(name.as_posix(), path))
    except ValueError as error:
        raise UserError(
            f"the pattern {pattern} cannot be read ({error})",
            next_step="** stands alone between slashes, as in 'notes/**/*.md'",
        ) from None
    return found


def _base_and_pattern(pattern: Path) -> tuple[Path, str]:
    """The folder before the first part with a wildcard, and the rest."""
    parts = pattern.parts
    fixed = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:fixed]), "/".join(parts[fixed:])


def _check_folders(base: Path, rest: str) -> None:
    """Refuse a folder that the pattern looks into and that cannot be read; glob skips it."""
    steps = rest.split("/")
    looked_into = [base]
    for depth in range(1, len(steps)):
        looked_into += base.glob("/".join(steps[:depth]))
    for folder in looked_into:
        if folder.is_dir() and not _is_hidden(folder.relative_to(base)):
            _listed(folder)


def _is_hidden(name: Path) -> bool:
    return any(part.startswith(".") for part in name.parts)


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise UserError(
            f"{path} is not a file (a broken link, perhaps)",
            next_step="remove it or bring the file there",
        )


def _check_name(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UserError(f"the name {name!r} is not UTF-8", next_step="rename it") from None
