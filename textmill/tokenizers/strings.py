"""Columns of strings as flat bytes and offsets, and back, without a Python object a string.

A `large_string` column is UTF-8 bytes one text after the other and int64 offsets. Working on
those two arrays is what makes splitting and counting fast; nothing here decodes a character.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from textmill.base.compiled import read_only
from textmill.base.errors import UserError

SPACE = 0x20
BYTES_A_BLOCK = 1 << 19
"""What is split and looked up at once: its arrays are used again while they are in the cache."""
_SHORTEST = 9


def as_column(texts: Sequence[str]) -> pa.LargeStringArray:
    """A column of texts. UserError for half of a surrogate pair, which no UTF-8 can hold."""
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError as error:
        place = f"character {error.start + 1} of {error.object[:40]!a}"
        raise UserError(
            f"half of a surrogate pair, U+{ord(error.object[error.start]):04X}, is no character",
            where=place,
            next_step="decode the text anew: it was read in the wrong encoding",
        ) from None


def flat_bytes(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The uint8 bytes of a string column, nothing between its texts, and int64 offsets into them.

    Both are read-only. No copy of the bytes where the column is a large_string.
    """
    if not pa.types.is_large_string(column.type):
        column = column.cast(pa.large_string())
    if len(column) == 0:
        return read_only(np.zeros(0, np.uint8)), read_only(np.zeros(1, np.int64))
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    flat = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return read_only(flat[bounds[0] : bounds[-1]]), read_only(bounds - bounds[0])


@dataclass(frozen=True, slots=True)
class Units:
    """Parts of a text: unit i is data[starts[i]:ends[i]]; uint8 and int64, all read-only."""

    data: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)

    def column(self, wanted: np.ndarray | slice = slice(None)) -> pa.LargeStringArray:
        """The texts of the units, or of those that are wanted (bool or rows)."""
        starts = self.starts[wanted]
        offsets = offsets_of(self.ends[wanted] - starts)
        places = np.repeat(starts - offsets[:-1], np.diff(offsets)) + np.arange(offsets[-1])
        return from_flat(self.data[places], offsets)


def units_of(column: pa.Array) -> Units:
    """Each text of a column as a unit."""
    data, bounds = flat_bytes(column)
    return Units(data, bounds[:-1], bounds[1:])


def blocks_of(column: pa.Array, bytes_a_block: int = BYTES_A_BLOCK) -> Iterator[pa.Array]:
    """A string column in slices of about this many bytes (more where one text is longer)."""
    _, bounds = flat_bytes(column)
    steps = np.arange(0, max(int(bounds[-1]), 1), bytes_a_block)
    cuts = np.unique(np.append(np.searchsorted(bounds, steps), len(column)))
    for start, stop in pairwise(cuts.tolist()):
        yield column.slice(start, stop - start)


def from_flat(data: np.ndarray, offsets: np.ndarray) -> pa.LargeStringArray:
    """A large_string column of texts that lie one after the other; no copy of the bytes."""
    buffers = [pa.py_buffer(np.ascontiguousarray(array)) for array in (offsets, data)]
    return pa.LargeStringArray.from_buffers(len(offsets) - 1, *buffers)


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """int64 offsets of rows of these lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def eight_from_everywhere(data: np.ndarray) -> np.ndarray:
    """At every byte but the last seven, it and the seven after it as one integer.

    No copy but of less than nine bytes: NumPy gives an array of one number another type to numba.
    """
    if len(data) < _SHORTEST:
        data = np.append(data, np.zeros(_SHORTEST - len(data), np.uint8))
    return read_only(np.ndarray((len(data) - 7,), np.uint64, buffer=data.data, strides=(1,)))
