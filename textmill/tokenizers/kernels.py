"""The loops over bytes, words and ids that are compiled: everything that is done once a character.

Suffixes of sizes in the docstrings: B bytes, L lines, W units (words, chunks), I ids. `data` is the
UTF-8 of all lines one after the other, (B,) uint8; `bounds` says where each begins, (L+1,) int64.
Outputs are arrays of the caller that are large enough. What a kernel is given must be true: nothing
is checked here, and nothing can raise.
"""

import numpy as np

from textmill.base.compiled import Kernel

SPACE = 0x20
LINE_FEED = 0x0A
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio (Knuth, TAOCP 3, 6.4)
_ONE, _HALF = np.uint64(1), np.uint64(32)
_LENGTH = np.uint64(56)
_SHORT = 7


@Kernel
def intern(  # noqa: C901, PLR0912  # a loop, and the arrays that it works on
    data: np.ndarray,
    eight: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    weights: np.ndarray,
    first: int,
    rows: np.ndarray,
    slots: np.ndarray,
    offsets: np.ndarray,
    texts: np.ndarray,
    counts: np.ndarray,
    n: int,
    adds: bool,
) -> tuple[int, int]:
    """Find units from the `first` on in a hash table, and add those that it lacks if `adds`.

    eight: (B-7,) uint64, the eight bytes from every place in `data` on; two of them where `data`
    is shorter than that, with zeros behind it. starts, ends: (W,) int64,
    where the units lie. rows: (W,) int32, each unit's row, -1 where it is not in the table.
    weights: (W,) int64, what each adds to its row's count if `adds`; empty for one each.

    The table has open addressing with linear probing. slots: (S, 2) uint64, a hash and one more
    than twice the row, or two for a text of more than seven bytes; zero for none; S is a power of
    two, and the table has less than half as many rows. Row r has counts[r] and the bytes
    texts[offsets[r]:offsets[r+1]]. A short text and its length fill 64 bits, and its hash is one
    of 64 bits too, which no other short text has; only long ones are compared byte by byte.

    Returns the first unit that found no room, or W, and the number of rows that there are now.
    Hash and search stand here and not in kernels of their own: those make it half as slow again.
    """
    mask = np.uint64(len(slots) - 1)
    for i in range(first, len(starts)):
        start, end = starts[i], ends[i]
        size = end - start
        is_long = size > _SHORT
        if not is_long:
            word = np.uint64(0)
            if start < len(eight):
                word = eight[start] & ((_ONE << np.uint64(8 * size)) - _ONE)
            else:
                for j in range(size):
                    word |= np.uint64(data[start + j]) << np.uint64(8 * j)
            hashed = (word | np.uint64(size) << _LENGTH) * _ODD
            hashed ^= hashed >> _HALF
        else:
            hashed = np.uint64(size) * _ODD
            for j in range(start, end - 7, 8):
                hashed = (hashed ^ eight[j]) * _ODD
                hashed ^= hashed >> _HALF
            if size & 7:
                hashed = (hashed ^ eight[end - 8]) * _ODD
                hashed ^= hashed >> _HALF
        slot = hashed & mask
        row = np.int64(-1)
        while slots[slot, 1]:
            if slots[slot, 0] == hashed and (slots[slot, 1] & _ONE) != is_long:
                row = np.int64((slots[slot, 1] - _ONE) >> _ONE)
                if not is_long:
                    break
                place = offsets[row]
                if offsets[row + 1] - place == size:
                    j = 0
                    while j < size and texts[place + j] == data[start + j]:
                        j += 1
                    if j == size:
                        break
                row = np.int64(-1)
            slot = (slot + _ONE) & mask
        if adds:
            if row < 0:
                place = offsets[n]
                if n == len(counts) or place + size > len(texts):
                    return i, n
                row = np.int64(n)
                slots[slot, 0] = hashed
                slots[slot, 1] = np.uint64(2 * row + 1 + is_long)
                for j in range(size):
                    texts[place + j] = data[start + j]
                offsets[n + 1] = place + size
                counts[row] = 0
                n += 1
            counts[row] += weights[i] if len(weights) else 1
        rows[i] = row
    return len(starts), n


@Kernel
def move_slots(old: np.ndarray, new: np.ndarray) -> None:
    """Enter the rows of some slots into more of them: see `intern`."""
    mask = np.uint64(len(new) - 1)
    for i in range(len(old)):
        if old[i, 1]:
            slot = old[i, 0] & mask
            while new[slot, 1]:
                slot = (slot + _ONE) & mask
            new[slot, 0] = old[i, 0]
            new[slot, 1] = old[i, 1]


@Kernel
def find_words(
    data: np.ndarray, bounds: np.ndarray, starts: np.ndarray, ends: np.ndarray, offsets: np.ndarray
) -> int:
    """Runs of bytes between spaces: their starts and ends, (W+1,), and the lines' offsets, (L+1,).

    Every byte writes both and only those that begin or end a word go on: a branch at each word
    would cost more, since no processor foresees it. Returns how many lines are not their words
    with single spaces between them.
    """
    started = ended = 0
    lossy = 0
    for line in range(len(bounds) - 1):
        first = started
        offsets[line] = first
        spaces = 0
        after_space = True
        for i in range(bounds[line], bounds[line + 1]):
            is_space = data[i] == SPACE
            starts[started] = ends[ended] = i
            started += after_space & (not is_space)
            ended += is_space & (not after_space)
            spaces += is_space
            after_space = is_space
        ends[ended] = bounds[line + 1]
        ended = started
        lossy += spaces != max(started - first - 1, 0)
    offsets[len(bounds) - 1] = started
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
            starts[n] = i
            n += (data[i] == SPACE) | (i == begin)
    offsets[len(bounds) - 1] = n
    starts[n] = len(data)
    return n


@Kernel
def drop_line_ends(data: np.ndarray, text: np.ndarray, offsets: np.ndarray) -> int:
    """The bytes without line feeds, (B+1,), and the offsets of the lines that they ended, (L+2,).

    Returns how many bytes are left.
    """
    n = line = 0
    offsets[0] = 0
    for i in range(len(data)):
        is_end = data[i] == LINE_FEED
        text[n] = data[i]
        n += not is_end
        offsets[line + 1] = n
        line += is_end
    return n


@Kernel
def measure_lines(
    data: np.ndarray, bounds: np.ndarray, words: np.ndarray, characters: np.ndarray
) -> None:
    """Words between spaces and code points of each line, (L,) int32."""
    for line in range(len(bounds) - 1):
        n_words = n_characters = 0
        after_space = True
        for i in range(bounds[line], bounds[line + 1]):
            is_space = data[i] == SPACE
            n_words += after_space & (not is_space)
            n_characters += (data[i] & 0xC0) != 0x80
            after_space = is_space
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
