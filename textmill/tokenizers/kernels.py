"""The loops over bytes, words and ids that are compiled: everything that is done once a character.

Suffixes of sizes in the docstrings: B bytes, L lines, W units (words, chunks), I ids. `data` is the
UTF-8 of all lines one after the other, (B,) uint8; `bounds` says where each begins, (L+1,) int64.
`eight` is (B-7,) uint64, the eight bytes from every place in `data` on; two of them where `data` is
shorter than that, with zeros behind it. Outputs are arrays of the caller that are large enough.
What a kernel is given must be true: nothing is checked here, and nothing can raise.

Places are unsigned (`U`). For a signed one numba looks each time whether it counts from the end,
and then no loop over bytes is worked on in vectors: that made some of these ten times as slow.
"""

import numpy as np

from textmill.base.compiled import Kernel, U

SPACE = 0x20
LINE_FEED = 0x0A
_ODD = U(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio (Knuth, TAOCP 3, 6.4)
_ZERO, _ONE, _SEVEN, _EIGHT = U(0), U(1), U(7), U(8)
_HALF, _LENGTH, _WHOLE = U(32), U(56), U(64)
_EACH = U(0x0101010101010101)
_HIGHEST = U(0x8080808080808080)


@Kernel
def intern(  # noqa: C901, PLR0912  # a loop, and the arrays that it works on
    eight: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    weights: np.ndarray,
    first: int,
    rows: np.ndarray,
    slots: np.ndarray,
    offsets: np.ndarray,
    texts: np.ndarray,
    eight_texts: np.ndarray,
    counts: np.ndarray,
    n: int,
    adds: bool,
) -> tuple[int, int]:
    """Find units from the `first` on in a hash table, and add those that it lacks if `adds`.

    starts, ends: (W,) int64, where the units lie. rows: (W,) int32, each unit's row, -1 where it is
    not in the table.
    weights: (W,) int64, what each adds to its row's count if `adds`; empty for one each.

    The table has open addressing with linear probing. slots: (S, 2) uint64, a hash and one more
    than twice the row, or two for a text of more than seven bytes; zero for none; S is a power of
    two, and the table has less than half as many rows. Row r has counts[r] and the bytes
    texts[offsets[r]:offsets[r+1]]; `eight_texts` is to `texts` what `eight` is to the data. A short
    text and its length fill 64 bits, and its hash is one of 64 bits too, which no other short text
    has; only long ones are compared.

    Returns the first unit that found no room, or W, and the number of rows that there are now.
    Hash and search stand here and not in kernels of their own: those make it half as slow again.
    """
    mask = U(len(slots) - 1)
    last = U(len(eight) - 1)
    for i in range(first, len(starts)):
        start, end = U(starts[i]), U(ends[i])
        size = end - start
        is_long = size > _SEVEN
        if not is_long:
            at = min(start, last)
            word = eight[at] >> (_EIGHT * (start - at) & _WHOLE - _ONE)
            word &= (_ONE << _EIGHT * size) - _ONE
            hashed = (word | size << _LENGTH) * _ODD
            hashed ^= hashed >> _HALF
        else:
            hashed = size * _ODD
            for j in range(start, end - _SEVEN, _EIGHT):
                hashed = (hashed ^ eight[j]) * _ODD
                hashed ^= hashed >> _HALF
            if size & _SEVEN:
                hashed = (hashed ^ eight[end - _EIGHT]) * _ODD
                hashed ^= hashed >> _HALF
        slot = hashed & mask
        row = np.int64(-1)
        while slots[slot, 1]:
            if slots[slot, 0] == hashed and (slots[slot, 1] & _ONE) != is_long:
                row = np.int64((slots[slot, 1] - _ONE) >> _ONE)
                if not is_long:
                    break
                place = U(offsets[row])
                if U(offsets[row + 1]) - place == size:
                    tail = size - _EIGHT
                    j = _ZERO
                    while j < tail and eight_texts[place + j] == eight[start + j]:
                        j += _EIGHT
                    if j >= tail and eight_texts[place + tail] == eight[start + tail]:
                        break
                row = np.int64(-1)
            slot = (slot + _ONE) & mask
        if adds:
            if row < 0:
                place = U(offsets[n])
                if n == len(counts) or place + size > U(len(texts)):
                    return i, n
                row = np.int64(n)
                slots[slot, 0] = hashed
                slots[slot, 1] = U(2 * row + 1 + is_long)
                for j in range(size):
                    at = min(start + j, last)
                    texts[place + j] = eight[at] >> _EIGHT * (start + j - at)
                offsets[n + 1] = place + size
                counts[row] = 0
                n += 1
            counts[row] += weights[i] if len(weights) else 1
        rows[i] = row
    return len(starts), n


@Kernel
def move_slots(old: np.ndarray, new: np.ndarray) -> None:
    """Enter the rows of some slots into more of them: see `intern`."""
    mask = U(len(new) - 1)
    for i in range(len(old)):
        if old[i, 1]:
            slot = old[i, 0] & mask
            while new[slot, 1]:
                slot = (slot + _ONE) & mask
            new[slot, 0] = old[i, 0]
            new[slot, 1] = old[i, 1]


@Kernel
def find_words(
    eight: np.ndarray, bounds: np.ndarray, starts: np.ndarray, ends: np.ndarray, offsets: np.ndarray
) -> int:
    """Runs of bytes between spaces: their starts and ends, (W+1,), and the lines' offsets, (L+1,).

    Eight bytes are looked at together. Two words are written for each eight, as many as end there
    on the average, and only those that do end go on: a branch at each word would cost more, since
    no processor foresees it. Returns how many lines are not their words with single spaces between
    them.
    """
    n = _ZERO
    lossy = 0
    last = U(len(eight) - 1)
    for line in range(len(bounds) - 1):
        first = n
        offsets[line] = first
        n_spaces = _ZERO
        begin, stop = U(bounds[line]), U(bounds[line + 1])
        for i in range(begin, stop, _EIGHT):
            at = min(i, last)
            inside = ~_ZERO >> (_WHOLE - _EIGHT * min(stop - i, _EIGHT))
            spaces = spaces_in(eight[at] >> _EIGHT * (i - at)) & inside
            for _ in range(2):
                end = i + lowest_byte(spaces)
                starts[n] = begin
                ends[n] = end
                n += U((spaces != 0) & (end > begin))
                begin = end + _ONE if spaces else begin
                n_spaces += U(spaces != 0)
                spaces &= spaces - _ONE
            while spaces:
                end = i + lowest_byte(spaces)
                starts[n] = begin
                ends[n] = end
                n += U(end > begin)
                begin = end + _ONE
                n_spaces += _ONE
                spaces &= spaces - _ONE
        starts[n] = begin
        ends[n] = stop
        n += U(stop > begin)
        lossy += n_spaces + U(n > first) != n - first
    offsets[len(bounds) - 1] = n
    return lossy


@Kernel
def spaces_in(word: np.uint64) -> np.uint64:
    """The highest bit of each of eight bytes that is a space (Warren, Hacker's Delight, 6-1)."""
    other = word ^ _EACH * U(SPACE)
    return ~((other & ~_HIGHEST) + ~_HIGHEST | other) & _HIGHEST


@Kernel
def lowest_byte(bits: np.uint64) -> np.uint64:
    """Which byte, from the lowest on, has the first bit that is set, a byte's highest."""
    below = (bits & ~bits + _ONE) - _ONE
    return ((below & _EACH) * _EACH >> _LENGTH) - _ONE


@Kernel
def find_chunks(
    data: np.ndarray, bounds: np.ndarray, starts: np.ndarray, offsets: np.ndarray
) -> int:
    """Where a line, or a space in it, begins: (W+1,) starts with the end, (L+1,) lines' offsets.

    Returns W.
    """
    n = _ZERO
    for line in range(len(bounds) - 1):
        offsets[line] = n
        begin = U(bounds[line])
        for i in range(begin, U(bounds[line + 1])):
            starts[n] = i
            n += U((data[i] == SPACE) | (i == begin))
    offsets[len(bounds) - 1] = n
    starts[n] = len(data)
    return n


@Kernel
def drop_line_ends(data: np.ndarray, line_ends: np.ndarray, text: np.ndarray) -> None:
    """The bytes of lines without the line feeds that end them: (B-L,).

    line_ends: (L,) int64, where in `data` the line feeds are.
    """
    begin = _ZERO
    for line in range(U(len(line_ends))):
        end = U(line_ends[line])
        for i in range(begin, end):
            text[i - line] = data[i]
        begin = end + _ONE


@Kernel
def measure_lines(
    data: np.ndarray, bounds: np.ndarray, words: np.ndarray, characters: np.ndarray
) -> None:
    """Words between spaces and code points of each line, (L,) int32."""
    for line in range(len(bounds) - 1):
        begin, stop = U(bounds[line]), U(bounds[line + 1])
        n_words = np.int32(begin < stop and data[begin] != SPACE)
        n_characters = np.int32(begin < stop)
        for i in range(begin + _ONE, stop):
            n_words += np.int32((data[i] != SPACE) & (data[i - _ONE] == SPACE))
            n_characters += np.int32((data[i] & 0xC0) != 0x80)
        words[line] = n_words
        characters[line] = n_characters


@Kernel
def encode_characters(
    data: np.ndarray, bounds: np.ndarray, id_of: np.ndarray, ids: np.ndarray, offsets: np.ndarray
) -> int:
    """The ids of all code points, (I,), and the lines' offsets, (L+1,).

    id_of: (0x200000,) uint32, by code point. ids: uint32. Returns I.
    """
    n = _ZERO
    for line in range(len(bounds) - 1):
        offsets[line] = n
        i, stop = U(bounds[line]), U(bounds[line + 1])
        while i < stop:
            point = U(data[i])
            i += _ONE
            if point >= 0x80:
                more = 1 + int(point >= 0xE0) + int(point >= 0xF0)
                point &= U(0x3F >> more)
                for _ in range(min(U(more), stop - i)):
                    point = point << U(6) | U(data[i] & 0x3F)
                    i += _ONE
            ids[n] = id_of[point]
            n += _ONE
    offsets[len(bounds) - 1] = n
    return n


@Kernel
def count_characters(data: np.ndarray, counts: np.ndarray) -> int:
    """Count code points in (0x200000,) int64; returns one more than the highest."""
    most = i = _ZERO
    stop = U(len(data))
    while i < stop:
        point = U(data[i])
        i += _ONE
        if point >= 0x80:
            more = 1 + int(point >= 0xE0) + int(point >= 0xF0)
            point &= U(0x3F >> more)
            for _ in range(min(U(more), stop - i)):
                point = point << U(6) | U(data[i] & 0x3F)
                i += _ONE
        counts[point] += 1
        most = max(most, point + _ONE)
    return most


@Kernel
def append_to_lines(
    ids: np.ndarray, offsets: np.ndarray, end: int, longer: np.ndarray, ends: np.ndarray
) -> None:
    """Ids with `end` behind every line: (I+L,) `longer` and its (L+1,) offsets `ends`."""
    n_lines = U(len(offsets) - 1)
    for line in range(n_lines):
        begin, stop = U(offsets[line]), U(offsets[line + _ONE])
        ends[line] = begin + line
        for i in range(begin, stop):
            longer[i + line] = ids[i]
        longer[stop + line] = end
    ends[n_lines] = U(offsets[n_lines]) + n_lines


@Kernel
def gather(flat: np.ndarray, offsets: np.ndarray, rows: np.ndarray, gathered: np.ndarray) -> None:
    """The lists flat[offsets[r]:offsets[r+1]] of these rows, one after the other."""
    n = _ZERO
    for row in rows:
        for i in range(U(offsets[row]), U(offsets[row + 1])):
            gathered[n] = flat[i]
            n += _ONE
