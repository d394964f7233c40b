"""Where words begin and end: between spaces, or between spaces and at every punctuation mark.

Both work on the bytes of a whole column at once.
"""

import numpy as np
import pyarrow as pa

from textmill.tokenizers.strings import SPACE, flat_bytes, from_flat, offsets_of


def split_words(lines: pa.Array) -> tuple[pa.LargeStringArray, np.ndarray]:
    """Runs of characters between spaces (U+0020): flat words of a column of lines, line offsets."""
    data, bounds = flat_bytes(lines)
    spaces = np.flatnonzero(data == SPACE)
    # A line with k spaces has k + 1 parts, empty ones among them.
    first_parts = offsets_of(np.diff(np.searchsorted(spaces, bounds)) + 1)
    lengths = _lengths_of_parts(spaces, bounds, first_parts)
    is_word = lengths > 0
    words = from_flat(data[data != SPACE], offsets_of(lengths[is_word]))
    return words, offsets_of(is_word)[first_parts]


def _lengths_of_parts(
    spaces: np.ndarray, bounds: np.ndarray, first_parts: np.ndarray
) -> np.ndarray:
    begins_line = np.zeros(first_parts[-1], dtype=bool)
    begins_line[first_parts[:-1]] = True
    starts = np.empty(len(begins_line), dtype=np.int64)
    starts[begins_line] = bounds[:-1]
    starts[~begins_line] = spaces + 1
    ends_line = np.zeros_like(begins_line)
    ends_line[first_parts[1:] - 1] = True
    ends = np.empty_like(starts)
    ends[ends_line] = bounds[1:]
    ends[~ends_line] = spaces
    return ends - starts
