"""Ascending whole numbers in about two bits each: where the continuations of every context end.

Row r is written as as many zeros as its number is larger than the one before, then a one; so the
number is the place of the r-th one minus r. A line of eight uint64, which is what a processor
fetches at once, holds how many ones come before it and 448 such bits. A hint for every 128th row
names its line, and between two hints the line is found by binary search. (Jacobson 1989; Elias
1974 has the same for numbers that are further apart.)

In a column: the lines, the hints, the number of lines. `UNARY` stands for its bits a number.
"""

import numpy as np

from textmill.base.compiled import Kernel, U

UNARY = 0
WORDS, PAYLOAD = 8, 448
HINTED = 128


def written(values: np.ndarray) -> np.ndarray:
    """uint64: ascending int64 from 0 up."""
    last_one = int(values[-1]) + len(values) - 1 if len(values) else 0
    lines = last_one // PAYLOAD + 1
    data = np.zeros(WORDS * lines + len(values) // HINTED + 3, np.uint64)
    data[-1] = lines
    _write(values, lines, data)
    return data


def fits(data: np.ndarray, rows: int) -> bool:
    """Whether a column of so many rows is as long as it says."""
    return len(data) > WORDS and len(data) == WORDS * int(data[-1]) + rows // HINTED + 3


@Kernel
def _write(values: np.ndarray, lines: int, data: np.ndarray) -> None:
    hints = data[WORDS * lines :]
    at = 0
    for row in range(len(values)):
        place = values[row] + row
        line, bit = place // PAYLOAD, place % PAYLOAD
        while at < line:
            at += 1
            data[WORDS * at] = row
        data[WORDS * line + 1 + (bit >> 6)] |= np.uint64(1) << np.uint64(bit & 63)
        if row % HINTED == 0:
            hints[row // HINTED] = line
    for hint in range((len(values) + HINTED - 1) // HINTED, len(hints) - 1):
        hints[hint] = lines - 1


@Kernel
def first_line(data: np.ndarray, row: int) -> np.int64:
    """Where the line begins that has the row, or one a little before."""
    lines = data[U(len(data) - 1)]
    return np.int64(U(WORDS) * data[U(WORDS) * lines + (U(row) >> U(7))])


@Kernel
def read(data: np.ndarray, row: int) -> np.int64:
    """The number in a row. Places are unsigned, as in `columns.integer`."""
    hint = U(WORDS) * data[U(len(data) - 1)] + (U(row) >> U(7))
    low, high = data[hint], data[hint + U(1)]
    while low < high:  # the last line with no more than `row` ones before it
        middle = (low + high + U(1)) >> U(1)
        if data[U(WORDS) * middle] <= U(row):
            low = middle
        else:
            high = middle - U(1)
    left = row - np.int64(data[U(WORDS) * low])
    at = U(WORDS) * low + U(1)
    ones = count_ones(data[at])
    while left >= ones:
        left -= ones
        at += U(1)
        ones = count_ones(data[at])
    word = data[at]
    for _ in range(left):
        word &= word - U(1)
    lowest = word & (~word + U(1))
    bit = ((at - U(WORDS) * low - U(1)) << U(6)) + U(count_ones(lowest - U(1)))
    return np.int64(U(PAYLOAD) * low + bit) - row


@Kernel
def count_ones(word: np.uint64) -> np.int64:
    """How many bits are set (the compiler makes one instruction of it)."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
