"""Archives and compressed files, read member by member and without trust.

A member's name is only ever data: an archive that holds a name leading outside, a link, a device
or the same name twice is refused as a whole, whichever members are wanted, since no corpus needs
one. The bytes are counted as they come out, not as a header claims them, so that an archive made
to fill a disk ends at its limit. A zip is read by its table of contents; a tar in one pass from
front to back, to its very end, since that is the only proof that it was not cut short.
"""

import struct
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from tarfile import TarFile, TarInfo
from zipfile import ZipFile, ZipInfo

from textmill.text import packing
from textmill.text.compressed import BROKEN, Readable, decompressed, is_damage
from textmill.text.names import ArchiveError, Names, kind_in_tar, kind_in_zip, shown
from textmill.text.packing import BLOCK, Packing

_CHUNK = 1 << 18
_ENCRYPTED = 1
_DAMAGE = (
    *BROKEN,
    *(zipfile.BadZipFile, tarfile.TarError, struct.error),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError, LookupError),
)
"""What the readers raise at bytes that somebody else made."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive; `chunks` are its bytes, to be read before the next member is taken."""

    name: str
    chunks: Iterator[bytes]


def packing_of(path: Path, name: str, *, has_members: bool) -> Packing | None:
    """How the file is packed that is kept under `name`; None for a plain file.

    Raises ArchiveError where members are asked of what holds none, and the other way round.
    """
    if found := packing.by_name(name):
        return found
    if not has_members and not packing.says_nothing(name):
        return None
    found = packing.by_content(path)
    if found and found.compression:
        with (
            _Budget(found, BLOCK).watched(),
            decompressed(path, found.compression) as stream,
        ):
            container = "tar" if packing.is_tar(stream.read(BLOCK)) else ""
        found = Packing(container, found.compression, name)
    if has_members and not found:
        raise ArchiveError("neither its name nor its content is that of an archive")
    if found and found.container and not has_members:
        raise ArchiveError(f"is a {found.in_words} archive, and take does not say what to take")
    return found


def members(path: Path, packed: Packing, limit: int) -> Iterator[Member]:
    """The files of an archive in its own order; of a single compressed file, that one file.

    `limit`: bytes that may come out in all, of a tar with its headers. Raises ArchiveError, also
    while chunks are read. What is wrong with a tar shows at the latest when all were taken.
    """
    budget = _Budget(packed, limit)
    walk = {"zip": _of_zip, "tar": _of_tar, "": _of_one}[packed.container]
    return walk(path, budget)


def fits(name: str, patterns: Sequence[str]) -> bool:
    """Whether a member's name fits any pattern (`*` fits within and across folders)."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


class _Budget:
    """Counts what comes out, and knows at which member, for the message."""

    def __init__(self, packed: Packing, limit: int) -> None:
        self.packed = packed
        self.at = ""
        self._limit = limit
        self._left = limit

    def spend(self, n_bytes: int) -> None:
        self._left -= n_bytes
        if self._left < 0:
            raise ArchiveError(
                f"unpacks to more than unpack_limit: {self._limit:,} bytes{self._where()}"
            )

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Turn what the readers raise into one error that names the member."""
        try:
            yield
        except _DAMAGE as error:
            if not is_damage(error):
                raise
            why = str(error) or "it ends too early"
            raise self.broken(why) from None

    def broken(self, why: str) -> ArchiveError:
        """The error of an archive that is cut short or damaged."""
        return ArchiveError(f"not a whole {self.packed.in_words} file{self._where()} ({why})")

    def _where(self) -> str:
        return f", at the member {shown(self.at)}" if self.at else ""


class _Counted:
    """The bytes of a tar on their way to its reader."""

    def __init__(self, stream: Readable, budget: _Budget) -> None:
        self._stream = stream
        self._budget = budget
        self.position = 0
        self.end_of_data = 0
        """Where the last byte ends that is not zero."""

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._budget.spend(len(data))
        if data and (filled := len(data.rstrip(b"\0"))):
            self.end_of_data = self.position + filled
        self.position += len(data)
        return data


def _of_zip(path: Path, budget: _Budget) -> Iterator[Member]:
    with budget.watched(), ZipFile(path) as archive:
        for info, name in _checked(archive.infolist()):
            budget.at = name
            yield Member(name, _zip_chunks(archive, info, budget))


def _checked(infos: list[ZipInfo]) -> list[tuple[ZipInfo, str]]:
    """The files of a zip with their names, when every entry is one that a corpus may have."""
    names = Names()
    found = []
    for info in infos:
        kind = kind_in_zip(info)
        name = names.add(info.filename, kind)
        if info.flag_bits & _ENCRYPTED:
            raise ArchiveError(f"the member {name} is encrypted")
        if kind == "file":
            found.append((info, name))
    return found


def _zip_chunks(archive: ZipFile, info: ZipInfo, budget: _Budget) -> Iterator[bytes]:
    with budget.watched(), archive.open(info) as stream:
        yield from _counted_chunks(stream, budget)


def _of_tar(path: Path, budget: _Budget) -> Iterator[Member]:
    with budget.watched(), decompressed(path, budget.packed.compression) as stream:
        counted = _Counted(stream, budget)
        # Its own pass over the bytes, so that what follows the archive's end is seen as well.
        with tarfile.open(fileobj=counted, mode="r|", encoding="utf-8") as archive:  # type: ignore[call-overload]
            names = Names()
            for info in archive:
                budget.at = info.name
                name = names.add(info.name, kind_in_tar(info))
                if info.isreg():
                    yield Member(name, _tar_chunks(archive, info, budget))
            _check_end(archive, counted, budget)


def _tar_chunks(archive: TarFile, info: TarInfo, budget: _Budget) -> Iterator[bytes]:
    with budget.watched():
        stream = archive.extractfile(info)
        assert stream is not None, "only plain files are asked for"
        while chunk := stream.read(_CHUNK):
            yield chunk


def _check_end(archive: TarFile, counted: _Counted, budget: _Budget) -> None:
    """Refuse a tar without the block of zeros that ends one, or with anything else after it.

    The library takes a damaged header, or the end of the file between two members, for the end.
    """
    while counted.read(_CHUNK):
        pass
    end = archive.offset
    if counted.position < end + BLOCK:
        raise budget.broken("it ends without the block that ends a tar")
    if counted.end_of_data > end:
        raise budget.broken(f"what follows at byte {end:,} is neither a member nor the end")


def _of_one(path: Path, budget: _Budget) -> Iterator[Member]:
    budget.at = budget.packed.stem
    with budget.watched(), decompressed(path, budget.packed.compression) as stream:
        yield Member(budget.at, _counted_chunks(stream, budget))


def _counted_chunks(stream: Readable, budget: _Budget) -> Iterator[bytes]:
    with budget.watched():
        while chunk := stream.read(_CHUNK):
            budget.spend(len(chunk))
            yield chunk
