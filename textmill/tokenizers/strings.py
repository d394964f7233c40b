"""Columns of strings as flat bytes and offsets, and back, without a Python object a string.

A `large_string` column is UTF-8 bytes one text after the other and int64 offsets. Working on
those two arrays is what makes splitting and counting fast; nothing here decodes a character.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from textmill.base.errors import UserError

SPACE = 0x20
WORD_BYTES = 7
"""A word of up to this many bytes fits one integer together with its length."""
_MASKS = np.array([(1 << 8 * length) - 1 for length in range(WORD_BYTES + 1)], np.uint64)
_BLOCK = 1 << 16
BYTES_A_BLOCK = 1 << 21
"""What is split and looked up at once: its arrays are used again while they are in the cache."""


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

    No copy of the bytes where the column is a large_string.
    """
    column = column.cast(pa.large_string())
    if len(column) == 0:
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    if data is None:
        return np.zeros(0, np.uint8), bounds
    return np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]], bounds - bounds[0]


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


def packed(words: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Each short word as one int64, its bytes and its length, and which words are too long.

    Two short words are equal where their integers are (a NUL inside a word too, since the length
    is part of it), and integers are counted and looked up several times as fast as strings. The
    integer of a word longer than `WORD_BYTES` is -1.
    """
    eight, offsets = _eight_bytes_from_everywhere(words)
    lengths = np.diff(offsets)
    integers = _pack(eight, offsets[:-1], lengths)
    is_long = lengths > WORD_BYTES
    integers[is_long] = -1
    return integers, is_long


def packed_in_two(words: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first 7 bytes of each word as in `packed`, the next 7, and which are longer still."""
    eight, offsets = _eight_bytes_from_everywhere(words)
    lengths = np.diff(offsets)
    head = _pack(eight, offsets[:-1], lengths)
    rest = np.maximum(lengths - WORD_BYTES, 0)
    tail = _pack(eight, np.minimum(offsets[:-1] + WORD_BYTES, offsets[-1]), rest)
    return head, tail, rest > WORD_BYTES


def _eight_bytes_from_everywhere(words: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """At every byte, it and the seven after it as one little-endian integer; the offsets."""
    data, offsets = flat_bytes(words)
    padded = np.zeros(len(data) + 8, np.uint8)
    padded[: len(data)] = data
    return np.ndarray((len(data) + 1,), "<u8", buffer=padded, strides=(1,)), offsets


def _pack(eight: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """int64: up to 7 bytes from each start, and how many they are in the highest byte."""
    keys = np.empty(len(lengths), np.uint64)
    for first in range(0, len(lengths), _BLOCK):  # a block stays in the processor's cache
        rows = slice(first, first + _BLOCK)
        short = np.minimum(lengths[rows], WORD_BYTES)
        letters = eight[starts[rows]] & _MASKS[short]
        keys[rows] = letters | (short.astype(np.uint64) << np.uint64(8 * WORD_BYTES))
    return keys.view(np.int64)


def unpacked(integers: np.ndarray) -> pa.LargeStringArray:
    """The short words of `packed` integers."""
    lengths = integers >> (8 * WORD_BYTES)
    letters = integers.astype("<i8").view(np.uint8).reshape(-1, 8)
    data = letters[np.arange(8) < lengths[:, None]]
    return from_flat(data, offsets_of(lengths))
