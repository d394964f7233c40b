"""Sorts the n-grams that begin at every position of a text, and lays them out as a trie.

The n-grams that begin with words of one range are packed, `64 // bits` words to a key, and sorted
by the first key: a radix sort, least significant digit first. With the key goes the rest of the
n-gram where one more key holds it, so that nothing has to be looked up in the text any more, or
else its position. N-grams whose first keys are equal are sorted on by the words behind. In the
sorted order every n-gram of every order is a run, its continuations are the runs inside it, and
its count is the run's length, so the layout is one pass through memory.

An n-gram ends before the next `<s>`, which also stands for what is missing behind its end.
Names: M positions of the range, N the order; `words` in a key, `rest` in the second, 0 for none.
"""

import numpy as np

from textmill.base.compiled import Kernel
from textmill.tokenizers.vocabulary import BEGIN

DIGIT = 11


@Kernel
def gather(
    stream: np.ndarray,
    low: int,
    high: int,
    words: int,
    rest: int,
    bits: int,
    keys: np.ndarray,
    behind: np.ndarray,
) -> None:
    """Keys of the n-grams whose first word is from `low` to `high` - 1.

    behind: uint64 (M), the second keys where there is a `rest`, or the positions.
    """
    found = 0
    for at in range(len(stream)):
        if low <= stream[at] < high:
            ends = at + 1
            while ends < min(at + words + rest, len(stream)) and stream[ends] != BEGIN:
                ends += 1
            keys[found] = _packed(stream, at, ends, words, bits)
            behind[found] = at
            if rest:
                behind[found] = _packed(stream, at + words, ends, rest, bits)
            found += 1


@Kernel
def _packed(stream: np.ndarray, at: int, ends: int, words: int, bits: int) -> np.uint64:
    """The `words` words from `at` on in one key; `<s>` stands for all from `ends` on."""
    key = np.uint64(0)
    for place in range(at, at + words):
        word = np.uint64(stream[place]) if place < ends else np.uint64(BEGIN)
        key = (key << np.uint64(bits)) | word
    return key


@Kernel
def radix_sort(
    keys: np.ndarray,
    behind: np.ndarray,
    other_keys: np.ndarray,
    other_behind: np.ndarray,
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
            other_behind[place] = behind[row]
        keys, other_keys = other_keys, keys
        behind, other_behind = other_behind, behind
        swapped = not swapped
    return swapped


@Kernel
def measure(
    stream: np.ndarray,
    keys: np.ndarray,
    behind: np.ndarray,
    words: int,
    rest: int,
    bits: int,
    order: int,
    shared: np.ndarray,
    lengths: np.ndarray,
) -> np.ndarray:
    """Finish the sort; how many words each n-gram shares with the one before, and its length.

    Returns how many different n-grams of each order there are (order + 2).
    """
    for row in range(len(keys)):
        shared[row] = _equal_fields(keys[row], keys[row - 1], words, bits) if row else 0
        lengths[row] = _length(stream, keys[row], behind[row], words, rest, bits, order)
    if rest:
        _sort_on(behind, lengths, behind, shared, words, rest, bits)
    depth = words
    later = np.empty(len(keys) if depth < order and not rest else 0, np.uint64)
    while depth < order and not rest:
        for row in range(len(keys)):
            at = np.int64(behind[row])
            ends = at + lengths[row]
            later[row] = _packed(stream, min(at + depth, ends), ends, words, bits)
        _sort_on(later, lengths, behind, shared, depth, words, bits)
        depth += words
    fresh = np.zeros(order + 2, np.int64)
    for row in range(len(keys)):
        for n in range(shared[row] + 1, lengths[row] + 1):
            fresh[n] += 1
    return fresh


@Kernel
def _length(
    stream: np.ndarray,
    key: np.uint64,
    behind: np.uint64,
    words: int,
    rest: int,
    bits: int,
    order: int,
) -> int:
    """Words before the end of the line, no more than `order`."""
    length = 1
    while length < words and field(key, words, length, bits) != BEGIN:
        length += 1
    if length < words or length == order:
        return length
    if rest:
        while length < order and field(behind, rest, length - words, bits) != BEGIN:
            length += 1
        return length
    at = np.int64(behind)
    while length < order and at + length < len(stream) and stream[at + length] != BEGIN:
        length += 1
    return length


@Kernel
def field(key: np.uint64, words: int, place: int, bits: int) -> np.uint64:
    """The word at a place of a key."""
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    return (key >> np.uint64(bits * (words - 1 - place))) & mask


@Kernel
def _equal_fields(one: np.uint64, other: np.uint64, words: int, bits: int) -> int:
    difference = one ^ other
    while difference:
        difference >>= np.uint64(bits)
        words -= 1
    return words


@Kernel
def _sort_on(
    later: np.ndarray,
    lengths: np.ndarray,
    behind: np.ndarray,
    shared: np.ndarray,
    depth: int,
    words: int,
    bits: int,
) -> None:
    """Sort the n-grams that share their first `depth` words by their next keys, `later`."""
    first = 0
    while first < len(later):
        end = first + 1
        while end < len(later) and shared[end] == depth:
            end += 1
        if end - first > 1:
            _sort_group(later, lengths, behind, first, end)
            for row in range(first + 1, end):
                shared[row] = depth + _equal_fields(later[row], later[row - 1], words, bits)
        first = end


@Kernel
def _sort_group(
    later: np.ndarray, lengths: np.ndarray, behind: np.ndarray, first: int, end: int
) -> None:
    """Shell's sort: insertion for the few rows that most groups have, and no worse for many."""
    gap = 1
    while gap < (end - first) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for row in range(first + gap, end):
            key, length, carried = later[row], lengths[row], behind[row]
            place = row
            while place - gap >= first and later[place - gap] > key:
                behind[place] = behind[place - gap]
                later[place] = later[place - gap]
                lengths[place] = lengths[place - gap]
                place -= gap
            behind[place] = carried
            later[place], lengths[place] = key, length
        gap //= 3


@Kernel
def lay_out(
    stream: np.ndarray,
    keys: np.ndarray,
    behind: np.ndarray,
    words: int,
    rest: int,
    bits: int,
    shared: np.ndarray,
    lengths: np.ndarray,
    bases: np.ndarray,
    last_words: np.ndarray,
    counts: np.ndarray,
    first_children: np.ndarray,
) -> None:
    """Last word, count and first continuation of every n-gram, order n from bases[n] on."""
    free = bases.copy()
    for row in range(len(keys)):
        for n in range(1, min(shared[row], lengths[row]) + 1):
            counts[free[n] - 1] += 1
        for n in range(shared[row] + 1, lengths[row] + 1):
            place = free[n]
            if n <= words:
                last_words[place] = field(keys[row], words, n - 1, bits)
            elif rest:
                last_words[place] = field(behind[row], rest, n - 1 - words, bits)
            else:
                last_words[place] = stream[np.int64(behind[row]) + n - 1]
            counts[place] = 1
            first_children[place] = free[n + 1] - bases[n + 1]
            free[n] = place + 1
