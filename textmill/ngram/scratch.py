"""Arrays that are in memory while they are few, and in files once they would not fit.

A stage is given a memory limit. What a text needs is known in advance from its length and the
order; where that is more, every long array lies in a mapped file of a scratch folder, and pages
that were worked through are given back to the system.
"""

import mmap
import os
import shutil
from pathlib import Path
from types import TracebackType

import numpy as np

from textmill.base.errors import UserError

ROW_BYTES = 40
"""Of an n-gram in memory: word, count, adjusted count, suffix, start, probability, weight."""
POSITION_BYTES = 40
"""Of a position of the text while its piece is sorted: four keys, two lengths."""


class Scratch:
    """Where long arrays are made. folder: None for memory."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._maps: list[mmap.mmap] = []

    def __enter__(self) -> "Scratch":
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._maps.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def is_on_disk(self) -> bool:
        """Whether arrays lie in files."""
        return self._folder is not None

    def zeros(self, rows: int, dtype: np.typing.DTypeLike) -> np.ndarray:
        """An array of zeros, in memory or in a file of its own."""
        if self._folder is None or rows == 0:
            return np.zeros(rows, dtype)
        path = self._folder / f"{len(self._maps)}.array"
        size = rows * np.dtype(dtype).itemsize
        with path.open("wb+") as file:
            _reserve(file.fileno(), path, size)
            mapped = mmap.mmap(file.fileno(), size)
        self._maps.append(mapped)
        return np.frombuffer(mapped, dtype)

    def keep(self, array: np.ndarray) -> np.ndarray:
        """The same numbers where long arrays are."""
        if self._folder is None:
            return array
        kept = self.zeros(len(array), array.dtype)
        kept[:] = array
        return kept

    def release(self) -> None:
        """Give back the memory of all pages that were touched; the numbers stay in the files."""
        for mapped in self._maps:
            mapped.madvise(mmap.MADV_DONTNEED)


def _reserve(descriptor: int, path: Path, size: int) -> None:
    """Take the room now: a page that finds none later ends the process without a word."""
    if not hasattr(os, "posix_fallocate"):  # macOS
        os.truncate(descriptor, size)
        return
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        free = shutil.disk_usage(path.parent).free
        raise UserError(
            f"no room for {size:,} bytes of counts, {free:,} are free ({error.strerror})",
            where=str(path.parent),
            next_step="make room there; or raise memory_limit, above which counts lie in files",
        ) from None


def fits(positions: int, order: int, memory_limit: float) -> bool:
    """Whether a text of so many positions can be counted and smoothed in memory.

    It is taken that no n-gram comes twice, as of high orders hardly any does: of WikiText-2's
    positions, orders 2 to 5 have 0.29, 0.66, 0.84 and 0.90 different ones.
    """
    needed = positions * (4 + ROW_BYTES * max(order - 1, 1))
    return needed + positions * POSITION_BYTES / 2 < memory_limit


def piece_size(positions: int, order: int, memory_limit: float, threads: int) -> int:
    """How many n-grams to sort at a time, so that all threads take a third of the limit."""
    row = POSITION_BYTES + 12 * order
    return max(1, min(-(-positions // (2 * threads)), int(memory_limit / 3 / threads / row)))
