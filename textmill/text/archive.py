"""Wheels and zips, read without unpacking and without trust.

A member's name is only ever data: an archive that holds a name leading outside, a link or the
same name twice is refused as a whole, whichever members are wanted, since no corpus needs one.
"""

import hashlib
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath, PureWindowsPath
from zipfile import ZipFile, ZipInfo


class ArchiveError(Exception):
    """The archive is damaged or holds something that no corpus needs; says what."""


@contextmanager
def opened(path: Path) -> Iterator[ZipFile]:
    """Open a zip whose member names are all safe. Raises ArchiveError."""
    try:
        with ZipFile(path) as archive:
            _check(archive.infolist())
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ArchiveError(f"not a whole zip file ({error})") from None


def member_sha256(archive: ZipFile, name: str) -> str:
    """sha256 of one member's bytes; its own checksum is verified on the way."""
    with archive.open(name) as member:
        return hashlib.file_digest(member, "sha256").hexdigest()  # type: ignore[arg-type]


def matching(archive: ZipFile, patterns: Sequence[str]) -> list[str]:
    """Sorted names of the members that fit any pattern (`*` fits within and across folders)."""
    names = [member.filename for member in archive.infolist() if not member.is_dir()]
    return sorted(n for n in names if any(fnmatchcase(n, pattern) for pattern in patterns))


def _check(members: list[ZipInfo]) -> None:
    seen: set[str] = set()
    for member in members:
        name = member.filename
        parts = PurePosixPath(name).parts
        if PurePosixPath(name).is_absolute() or ".." in parts or PureWindowsPath(name).drive:
            raise ArchiveError(f"the member {name} would land outside the folder")
        if "\\" in name:
            raise ArchiveError(f"the member {name} has a backslash in its name")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise ArchiveError(f"the member {name} is a link")
        if name in seen:
            raise ArchiveError(f"the member {name} is there twice")
        seen.add(name)
