"""gz, bz2, xz and zst as streams that end only where the file ends.

Each format lets several streams stand end to end (`cat a.gz b.gz`, pbzip2, pzstd), and all of them
are read. What follows a stream and is none is an error: the standard library's readers of bz2 and
xz take it for the end, and would lose the rest of a file whose second stream is damaged.
"""

import bz2
import errno
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

_CHUNK = 1 << 18
_XZ_MEMORY = 1 << 30
"""Bytes that a decoder may ask for; `xz -9` needs 65 MiB, a header can claim 4 GiB."""
BROKEN = (zlib.error, lzma.LZMAError, gzip.BadGzipFile, EOFError, OSError)
"""What a damaged stream raises. An OSError with an errno is the machine's, see `is_damage`."""


class Readable(Protocol):
    """All that is asked of a stream."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; none at the end."""


def is_damage(error: Exception) -> bool:
    """Whether the bytes are to blame, and not the disk or the folder that they lie in."""
    # A header that points before the file's beginning ends in a seek with an invalid argument.
    return not isinstance(error, OSError) or error.errno in (None, errno.EINVAL)


def compression_of(path: Path) -> str:
    """How the file is compressed, by its name's ending; empty for none."""
    ending = path.suffix.removeprefix(".")
    return ending if ending in _OPENERS else ""


@contextmanager
def decompressed(path: Path, compression: str) -> Iterator[Readable]:
    """Open a file for reading what it holds; an empty compression leaves it as it is.

    Reading raises one of `BROKEN` when the file is cut short or damaged.
    """
    if path.is_dir():  # Arrow's own error has no number
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if compression and not path.stat().st_size:
        raise EOFError("the file is empty")
    with _OPENERS[compression](path) as stream:
        yield stream


def _gz(path: Path) -> Any:
    return gzip.open(path, "rb")


def _bz2(path: Path) -> io.BufferedReader:
    return io.BufferedReader(_Joined(path.open("rb"), bz2.BZ2Decompressor), _CHUNK)


def _xz(path: Path) -> io.BufferedReader:
    def decoder() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)

    return io.BufferedReader(_Joined(path.open("rb"), decoder), _CHUNK)


_OPENERS: dict[str, Callable[[Path], Any]] = {
    "": lambda path: path.open("rb"),
    "gz": _gz,
    "bz2": _bz2,
    "xz": _xz,
    "zst": lambda path: pa.input_stream(str(path), compression="zstd"),
}


class _Joined(io.RawIOBase):
    """Streams end to end, through one fresh decoder each."""

    def __init__(
        self, file: BinaryIO, new: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]
    ) -> None:
        self._file = file
        self._new = new
        self._decoder = new()
        self._held = b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data:
            if self._decoder.eof and not self._next():
                return 0
            data = self._decoder.decompress(self._more(), len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _more(self) -> bytes:
        if not self._decoder.needs_input:
            return b""
        given, self._held = self._held or self._file.read(_CHUNK), b""
        if not given:
            raise EOFError("it ends within a stream")
        return given

    def _next(self) -> bool:
        """Begin the next stream; False at the end of the file. Zero bytes between are padding."""
        held = self._decoder.unused_data.lstrip(b"\0")
        while not held:
            read = self._file.read(_CHUNK)
            if not read:
                return False
            held = read.lstrip(b"\0")
        self._held, self._decoder = held, self._new()
        return True
