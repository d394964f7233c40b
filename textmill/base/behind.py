"""A large file that is on its way to the disk while it is still being written.

A file is whole when the disk has it, so the last act of writing is to wait for that (`files.py`).
Of a gigabyte that is seconds, in which nothing is computed. Flushed piece by piece by another
thread, which waits without the interpreter's lock, little is left for the end.
"""

import os
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PIECE = 64 << 20
"""Bytes after which a flush is begun, if none is under way."""


@contextmanager
def opened_behind(path: Path) -> Iterator["FlushedBehind"]:
    """A new file for `write`. OSError, as of any other, where the disk is full or fails."""
    with ThreadPoolExecutor(1) as pool, path.open("wb") as file:
        behind = FlushedBehind(file, pool)
        yield behind
        behind.end()


class FlushedBehind:
    """What may be written to: a file, of which every piece is flushed by `pool`."""

    def __init__(self, file: BinaryIO, pool: Executor) -> None:
        self._file = file
        self._pool = pool
        self._since = 0
        self._flush: Future[None] | None = None

    def write(self, data: bytes | memoryview) -> int:
        """Write all of `data`; how many bytes it had."""
        written = self._file.write(data)
        self._since += written
        if self._since >= PIECE and (self._flush is None or self._flush.done()):
            self.end()
            self._since = 0
            self._file.flush()
            self._flush = self._pool.submit(os.fsync, self._file.fileno())
        return written

    def flush(self) -> None:
        """Hand what is in the buffer to the system."""
        self._file.flush()

    def end(self) -> None:
        """Wait for the flush that is under way. OSError where it failed."""
        if self._flush is not None:
            self._flush.result()
