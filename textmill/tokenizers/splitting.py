"""Where words begin and end: between spaces."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from textmill.base.compiled import read_only
from textmill.tokenizers import kernels
from textmill.tokenizers.strings import Units, eight_from_everywhere, flat_bytes


@dataclass(frozen=True, slots=True)
class Words:
    """Runs of characters between spaces (U+0020).

    offsets: int64, line i has units offsets[i] to offsets[i+1].
    lossy_lines: lines that are not their words with single spaces between them.
    """

    units: Units
    offsets: np.ndarray
    lossy_lines: int


def split_words(lines: pa.Array) -> Words:
    """The words of a column of lines."""
    data, bounds = flat_bytes(lines)
    most = (len(data) + len(lines)) // 2 + 2
    starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    offsets = np.empty(len(lines) + 1, np.int64)
    eight = eight_from_everywhere(data)
    lossy_lines = kernels.find_words(eight, bounds, starts, ends, offsets)
    n = int(offsets[-1])
    units = Units(data, read_only(starts[:n]), read_only(ends[:n]))
    return Words(units, offsets, lossy_lines)


def words_and_characters(lines: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Words between spaces, and code points, of each of a column of lines; int32."""
    words, characters = np.empty(len(lines), np.int32), np.empty(len(lines), np.int32)
    kernels.measure_lines(*flat_bytes(lines), words, characters)
    return words, characters
