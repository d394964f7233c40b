"""The loops over bytes, words and ids that are compiled: everything that is done once a character.

Suffixes of sizes in the docstrings: B bytes, L lines, W units (words, chunks), I ids. `data` is the
UTF-8 of all lines one after the other, (B,) uint8; `bounds` says where each begins, (L+1,) int64.
Outputs are arrays of the caller that are large enough. What a kernel is given must be true: nothing
is checked here, and nothing can raise.
"""

import numpy as np

from textmill.tokenizers.compiled import Kernel

SPACE = 0x20
LINE_FEED = 0x0A
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio (Knuth, TAOCP 3, 6.4)
_BYTE = np.uint64(8)
_WORD = np.uint64(64)
_FOLD = np.uint64(32)


@Kernel
def intern(  # noqa: C901, PLR0917  # a loop, and the arrays that it works on
    data: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    weights: np.ndarray,
    first: int,
    rows: np.ndarray,
    slots: np.ndarray,
    hashes: np.ndarray,
    offsets: np.ndarray,
    texts: np.ndarray,
    counts: np.ndarray,
    n: int,
    adds: bool,
) -> tuple[int, int]:
    """Find units from the `first` on in a hash table, and add those that it lacks if `adds`.

    starts, ends: (W,) int64, places of the units in `data`. rows: (W,) int32, each unit's row, -1
    where it is not in the table. weights: (W,) int64, what each adds to its row's count if `adds`;
    empty for one each.
    The table has open addressing with linear probing: slots: int32 rows, -1 for none, a power of
    two in number and at most half full; row r has hashes[r], counts[r], and the bytes
    texts[offsets[r]:offsets[r+1]].
    Returns the first unit that found no room, or W, and the number of rows that there are now.
    """
    mask = len(slots) - 1
    for i in range(first, len(starts)):
        start, end = starts[i], ends[i]
        size = end - start
        hashed = np.uint64(size) * _ODD
        word = np.uint64(0)
        shift = np.uint64(0)
        for j in range(start, end):
            word |= np.uint64(data[j]) << shift
            shift += _BYTE
            if shift == _WORD:
                hashed = (hashed ^ word) * _ODD
                hashed ^= hashed >> _FOLD
                word = np.uint64(0)
                shift = np.uint64(0)
        hashed = (hashed ^ word) * _ODD
        hashed ^= hashed >> _FOLD
        slot = np.int64(hashed) & mask
        row = slots[slot]
        while row >= 0:
            if hashes[row] == hashed:
                place = offsets[row]
                if offsets[row + 1] - place == size:
                    j = 0
                    while j < size and texts[place + j] == data[start + j]:
                        j += 1
                    if j == size:
                        break
            slot = (slot + 1) & mask
            row = slots[slot]
        if adds:
            if row < 0:
                place = offsets[n]
                if n == len(hashes) or place + size > len(texts):
                    return i, n
                row = np.int32(n)
                slots[slot] = row
                hashes[row] = hashed
                for j in range(size):
                    texts[place + j] = data[start + j]
                offsets[n + 1] = place + size
                counts[row] = 0
                n += 1
            counts[row] += weights[i] if len(weights) else 1
        rows[i] = row
    return len(starts), n


@Kernel
def fill_slots(slots: np.ndarray, hashes: np.ndarray) -> None:
    """Enter rows into empty slots: see `intern`. hashes: uint64, of as many rows as there are."""
    mask = len(slots) - 1
    for row in range(len(hashes)):
        slot = np.int64(hashes[row]) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = row


@Kernel
def find_words(
    data: np.ndarray, bounds: np.ndarray, starts: np.ndarray, ends: np.ndarray, offsets: np.ndarray
) -> int:
    """Runs of bytes between spaces: their starts and ends, (W,), and the lines' offsets, (L+1,).

    Returns how many lines are not their words with single spaces between them.
    """
    n = 0
    lossy = 0
    for line in range(len(bounds) - 1):
        first = n
        offsets[line] = n
        i = bounds[line]
        stop = bounds[line + 1]
        spaces = stop - i
        while i < stop:
            if data[i] == SPACE:
                i += 1
                continue
            starts[n] = i
            while i < stop and data[i] != SPACE:
                i += 1
            ends[n] = i
            spaces -= i - starts[n]
            n += 1
        if spaces != max(n - first - 1, 0):
            lossy += 1
    offsets[len(bounds) - 1] = n
    return lossy


@Kernel
def find_chunks(
    data: np.ndarray, bounds: np.ndarray, starts: np.ndarray, offsets: np.ndarray
) -> int:
    """Where a line, or a space in it, begins: (W+1,) starts with the end, (L+1,) lines' offsets.

    Returns W.
    """
    n = 0
    for line in range(len(bounds) - 1):
        offsets[line] = n
        begin = bounds[line]
        for i in range(begin, bounds[line + 1]):
            if data[i] == SPACE or i == begin:
                starts[n] = i
                n += 1
    offsets[len(bounds) - 1] = n
    starts[n] = len(data)
    return n


@Kernel
def measure_lines(
    data: np.ndarray, bounds: np.ndarray, words: np.ndarray, characters: np.ndarray
) -> None:
    """Words between spaces and code points of each line, (L,) int32."""
    for line in range(len(bounds) - 1):
        n_words = 0
        n_characters = 0
        before = np.uint8(SPACE)
        for i in range(bounds[line], bounds[line + 1]):
            byte = data[i]
            n_words += (byte != SPACE) & (before == SPACE)
            n_characters += (byte & 0xC0) != 0x80
            before = byte
        words[line] = n_words
        characters[line] = n_characters


@Kernel
def encode_characters(
    data: np.ndarray, bounds: np.ndarray, id_of: np.ndarray, ids: np.ndarray, offsets: np.ndarray
) -> int:
    """The ids of all code points, (I,), and the lines' offsets, (L+1,).

    id_of: (0x200000,) uint32, by code point. ids: uint32. Returns I.
    """
    n = 0
    for line in range(len(bounds) - 1):
        offsets[line] = n
        i = bounds[line]
        stop = bounds[line + 1]
        while i < stop:
            point = np.int64(data[i])
            i += 1
            if point >= 0x80:
                more = 1 + int(point >= 0xE0) + int(point >= 0xF0)
                point &= 0x3F >> more
                for _ in range(min(more, stop - i)):
                    point = point << 6 | data[i] & 0x3F
                    i += 1
            ids[n] = id_of[point]
            n += 1
    offsets[len(bounds) - 1] = n
    return n


@Kernel
def count_characters(data: np.ndarray, counts: np.ndarray) -> int:
    """Count code points in (0x200000,) int64; returns one more than the highest."""
    most = 0
    i = 0
    while i < len(data):
        point = np.int64(data[i])
        i += 1
        if point >= 0x80:
            more = 1 + int(point >= 0xE0) + int(point >= 0xF0)
            point &= 0x3F >> more
            for _ in range(min(more, len(data) - i)):
                point = point << 6 | data[i] & 0x3F
                i += 1
        counts[point] += 1
        most = max(most, int(point) + 1)
    return most


@Kernel
def append_to_lines(
    ids: np.ndarray, offsets: np.ndarray, end: int, longer: np.ndarray, ends: np.ndarray
) -> None:
    """Ids with `end` behind every line: (I+L,) `longer` and its (L+1,) offsets `ends`."""
    n = 0
    for line in range(len(offsets) - 1):
        ends[line] = n
        for i in range(offsets[line], offsets[line + 1]):
            longer[n] = ids[i]
            n += 1
        longer[n] = end
        n += 1
    ends[len(offsets) - 1] = n


@Kernel
def gather(flat: np.ndarray, offsets: np.ndarray, rows: np.ndarray, gathered: np.ndarray) -> None:
    """The lists flat[offsets[r]:offsets[r+1]] of these rows, one after the other."""
    n = 0
    for row in rows:
        for i in range(offsets[row], offsets[row + 1]):
            gathered[n] = flat[i]
            n += 1
