"""Names of archive members, checked before anything is written under them.

A name is taken as it would be used: `./a//b` is `a/b`. What it is checked for holds on every
system, so that an archive that is taken on one machine is not refused on another.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import PurePosixPath, PureWindowsPath
from tarfile import TarInfo
from zipfile import ZipInfo


class ArchiveError(Exception):
    """The archive is damaged or holds something that no corpus needs; says what."""


def shown(name: str) -> str:
    """A name for a message: what would garble a terminal is escaped."""
    return name if name.isprintable() else ascii(name)


def safe(name: str) -> str:
    """The name relative to the folder that it is unpacked into. Raises ArchiveError."""
    path = PurePosixPath(name)
    found = path.as_posix()
    if path.is_absolute() or ".." in path.parts or PureWindowsPath(found).drive:
        raise ArchiveError(f"the member {shown(name)} would land outside the folder")
    if "\\" in name:
        raise ArchiveError(f"the member {shown(name)} has a backslash in its name")
    if not name.isprintable():
        raise ArchiveError(f"the member {shown(name)} has a name that cannot be printed")
    return found


class Names:
    """The members of one archive so far: each safe, each once, no file where a folder is."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = {"."}

    def add(self, raw: str, kind: str) -> str:
        """The safe name of one more member; `kind` is what `kind_in_zip` or `kind_in_tar` says."""
        name = safe(raw)
        if name == "." and kind == "file":
            raise ArchiveError("a member has no name")
        if kind not in ("file", "folder"):
            raise ArchiveError(f"the member {name} is {kind}")
        if name in self._files or (kind == "file" and name in self._folders):
            raise ArchiveError(f"the member {name} is there twice")
        above = {parent.as_posix() for parent in PurePosixPath(name).parents}
        if inside := sorted(above & self._files):
            raise ArchiveError(f"the member {name} lies inside the file {inside[0]}")
        self._folders |= above
        (self._files if kind == "file" else self._folders).add(name)
        return name


def shared_folder(names: Iterable[str]) -> PurePosixPath:
    """The folder that all of these members lie in; raw files are named relative to it."""
    return PurePosixPath(os.path.commonpath([PurePosixPath(name).parent for name in names]))


def kind_in_zip(info: ZipInfo) -> str:
    """file, folder, or in words what it is instead."""
    form = stat.S_IFMT(info.external_attr >> 16)  # zero where the packer knew no modes
    if form == stat.S_IFLNK:
        return "a link"
    if form not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "a device"
    return "folder" if info.filename.endswith("/") else "file"


def kind_in_tar(info: TarInfo) -> str:
    """file, folder, or in words what it is instead."""
    if info.issym() or info.islnk():
        return "a link"
    if info.isdev():
        return "a device"
    if info.isdir():
        return "folder"
    return "file" if info.isreg() and not info.issparse() else "neither a plain file nor a folder"
