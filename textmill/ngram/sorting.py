"""Sorts the n-grams that begin at every position of a text, and lays them out as a trie.

The n-grams that begin with words of one range are packed, `64 // bits` words to a key, and sorted
by the first key: a radix sort, least significant digit first. Where N words need more keys, only
the n-grams that are equal so far are sorted on. In the sorted order every n-gram of every order
is a run, its continuations are the runs inside it, and its count is the run's length, so the
layout is one pass through memory. Compiled; no Python is involved.

An n-gram ends before the next `<s>`. Names: M positions of the range, N the order.
"""

import numba
import numpy as np

from textmill.tokenizers.vocabulary import BEGIN

DIGIT = 11


@numba.njit(nogil=True, cache=True)
def gather(
    stream: np.ndarray,
    low: int,
    high: int,
    words: int,
    bits: int,
    keys: np.ndarray,
    positions: np.ndarray,
) -> None:
    """Keys and positions of the n-grams whose first word is from `low` to `high` - 1."""
    found = 0
    for at in range(len(stream)):
        if low <= stream[at] < high:
            positions[found] = at
            first = np.uint64(stream[at]) << np.uint64(bits * (words - 1))
            keys[found] = first | _packed(stream, at + 1, words - 1, bits)
            found += 1


@numba.njit(nogil=True, cache=True)
def _packed(stream: np.ndarray, at: int, words: int, bits: int) -> np.uint64:
    """The `words` words from `at` on in one key; `<s>` stands for all behind a line's end."""
    key = np.uint64(0)
    ended = False
    for place in range(at, at + words):
        ended = ended or place >= len(stream) or stream[place] == BEGIN
        word = np.uint64(BEGIN) if ended else np.uint64(stream[place])
        key = (key << np.uint64(bits)) | word
    return key


@numba.njit(nogil=True, cache=True)
def radix_sort(
    keys: np.ndarray,
    positions: np.ndarray,
    other_keys: np.ndarray,
    other_positions: np.ndarray,
    bits: int,
) -> bool:
    """Sort by the lowest `bits` bits of the keys; True where the result is in the other arrays."""
    swapped = False
    mask = np.uint64((1 << DIGIT) - 1)
    for shift in range(0, bits, DIGIT):
        places = np.zeros((1 << DIGIT) + 1, np.int64)
        for key in keys:
            places[((key >> np.uint64(shift)) & mask) + np.uint64(1)] += 1
        for digit in range(1 << DIGIT):
            places[digit + 1] += places[digit]
        for row in range(len(keys)):
            digit = (keys[row] >> np.uint64(shift)) & mask
            place = places[digit]
            places[digit] = place + 1
            other_keys[place] = keys[row]
            other_positions[place] = positions[row]
        keys, other_keys = other_keys, keys
        positions, other_positions = other_positions, positions
        swapped = not swapped
    return swapped


@numba.njit(nogil=True, cache=True)
def measure(
    stream: np.ndarray,
    keys: np.ndarray,
    positions: np.ndarray,
    words: int,
    bits: int,
    order: int,
    shared: np.ndarray,
    lengths: np.ndarray,
) -> np.ndarray:
    """Finish the sort; how many words each n-gram shares with the one before, and its length.

    Returns how many different n-grams of each order there are (order + 2).
    """
    for row in range(len(keys)):
        at = positions[row]
        length = 1
        while length < order and at + length < len(stream) and stream[at + length] != BEGIN:
            length += 1
        lengths[row] = length
        shared[row] = _equal_fields(keys[row], keys[row - 1], words, bits) if row else 0
    depth = words
    while depth < order:
        _sort_on(stream, keys, positions, depth, words, bits, shared, lengths)
        depth += words
    fresh = np.zeros(order + 2, np.int64)
    for row in range(len(keys)):
        for n in range(shared[row] + 1, lengths[row] + 1):
            fresh[n] += 1
    return fresh


@numba.njit(nogil=True, cache=True)
def _equal_fields(one: np.uint64, other: np.uint64, words: int, bits: int) -> int:
    difference = one ^ other
    while difference:
        difference >>= np.uint64(bits)
        words -= 1
    return words


@numba.njit(nogil=True, cache=True)
def _sort_on(
    stream: np.ndarray,
    keys: np.ndarray,
    positions: np.ndarray,
    depth: int,
    words: int,
    bits: int,
    shared: np.ndarray,
    lengths: np.ndarray,
) -> None:
    """Sort the n-grams that share their first `depth` words by the words behind."""
    first = 0
    while first < len(keys):
        end = first + 1
        while end < len(keys) and shared[end] == depth:
            end += 1
        if end - first > 1:
            for row in range(first, end):
                if lengths[row] < depth:
                    keys[row] = 0
                else:
                    keys[row] = _packed(stream, positions[row] + depth, words, bits)
            _sort_group(keys, positions, lengths, first, end)
            for row in range(first + 1, end):
                shared[row] = depth + _equal_fields(keys[row], keys[row - 1], words, bits)
        first = end


@numba.njit(nogil=True, cache=True)
def _sort_group(
    keys: np.ndarray, positions: np.ndarray, lengths: np.ndarray, first: int, end: int
) -> None:
    """Shell's sort: insertion for the few rows that most groups have, and no worse for many."""
    gap = 1
    while gap < (end - first) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for row in range(first + gap, end):
            key, position, length = keys[row], positions[row], lengths[row]
            place = row
            while place - gap >= first and keys[place - gap] > key:
                keys[place] = keys[place - gap]
                positions[place] = positions[place - gap]
                lengths[place] = lengths[place - gap]
                place -= gap
            keys[place], positions[place], lengths[place] = key, position, length
        gap //= 3


@numba.njit(nogil=True, cache=True)
def lay_out(
    stream: np.ndarray,
    positions: np.ndarray,
    shared: np.ndarray,
    lengths: np.ndarray,
    bases: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    first_children: np.ndarray,
) -> None:
    """Last word, count and first continuation of every n-gram, order n from bases[n] on."""
    free = bases.copy()
    for row in range(len(positions)):
        at = positions[row]
        for n in range(1, min(shared[row], lengths[row]) + 1):
            counts[free[n] - 1] += 1
        for n in range(shared[row] + 1, lengths[row] + 1):
            place = free[n]
            words[place] = stream[at + n - 1]
            counts[place] = 1
            first_children[place] = free[n + 1] - bases[n + 1]
            free[n] = place + 1
