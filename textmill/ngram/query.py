"""The compiled inside of a query: one order at a time, a binary search a token.

The row of the n-gram of order n-1 that ends before a token is known from the order below. Among
the words after it the token is searched for: if it is there, its probability holds, if not, the
weight of the context multiplies what the lower order said. A word is never further from the
beginning of the slice than its id is from 0, so frequent words, which have small ids, are found in
few steps.

The tables are larger than any cache, so what a query costs is waiting for memory. The tokens of an
order do not wait for one another: they go through four short loops, `AT_ONCE` of them at a time,
and each loop asks for what the next one reads. That doubled the speed.
"""

import numpy as np

from textmill.base.compiled import Kernel, U
from textmill.ngram.columns import end, end_place, integer, number
from textmill.ngram.prefetch import prefetch

NONE = -1
AT_ONCE = 128

Parts = tuple[np.ndarray, int, np.ndarray]


@Kernel
def extend(
    first: int,
    stop: int,
    words: np.ndarray,
    contexts: np.ndarray,
    reset: int,
    begin: int,
    below_ends: Parts,
    below_backoffs: Parts,
    order_words: Parts,
    order_probabilities: Parts,
    rows: np.ndarray,
    probabilities: np.ndarray,
) -> None:
    """For positions first to stop - 1 of a stream: rows of this order, and p(w|h) from p(w|h').

    words: (T); contexts: (T) rows of the order below that end at each position, or NONE.
    reset: the word after which the context is `begin` instead of what ends there.
    """
    found = np.empty((3, AT_ONCE), np.int64)
    for block in range(first, stop, AT_ONCE):
        part = slice(block, min(block + AT_ONCE, stop))
        _choose(block, words, contexts, reset, begin, below_ends, below_backoffs, found)
        _bound(words[part], below_ends, order_words, found)
        _search(words[part], order_words, order_probabilities, found)
        _weigh(below_backoffs, order_probabilities, found, rows[part], probabilities[part])


@Kernel
def _choose(
    block: int,
    words: np.ndarray,
    contexts: np.ndarray,
    reset: int,
    begin: int,
    below_ends: Parts,
    below_backoffs: Parts,
    found: np.ndarray,
) -> None:
    """found[0]: the context of each token of a block, or NONE."""
    ends, ends_bits, _ = below_ends
    backoffs, backoffs_bits, _ = below_backoffs
    for i in range(min(AT_ONCE, len(words) - block)):
        before = U(block + i - 1)
        context = NONE
        if block + i > 0:
            context = begin if words[before] == reset else contexts[before]
        found[0, i] = context
        if context != NONE:
            prefetch(ends, end_place(ends, ends_bits, context))
            prefetch(backoffs, (context * backoffs_bits) >> 6)


@Kernel
def _bound(words: np.ndarray, below_ends: Parts, order_words: Parts, found: np.ndarray) -> None:
    """found[1], found[2]: where the words after each context begin and where to stop looking."""
    ends, ends_bits, _ = below_ends
    data, bits, _ = order_words
    for i in range(len(words)):
        context = found[0, i]
        found[2, i] = found[1, i] = 0
        if context != NONE:
            low = end(ends, ends_bits, context - 1) if context else np.int64(0)
            high = min(end(ends, ends_bits, context), low + words[i] + 1)
            found[1, i] = low
            found[2, i] = high
            prefetch(data, (((low + high) >> 1) * bits) >> 6)


@Kernel
def _search(
    words: np.ndarray, order_words: Parts, order_probabilities: Parts, found: np.ndarray
) -> None:
    """found[1]: the row of each n-gram, NONE where it is not there."""
    probabilities, probabilities_bits, _ = order_probabilities
    for i in range(len(words)):
        row = find(found[1, i], found[2, i], words[i], order_words)
        found[1, i] = row
        if row != NONE:
            prefetch(probabilities, (row * probabilities_bits) >> 6)


@Kernel
def find(low: int, high: int, word: int, order_words: Parts) -> int:
    """The row from `low` to `high` - 1 that has a word, NONE where none has; words ascend."""
    words, bits, _ = order_words
    size = high - low
    while size > 1:  # no branch inside that could be guessed wrong
        half = size >> 1
        low += half if np.int64(integer(words, bits, low + half - 1)) < word else 0
        size -= half
    if size == 1 and np.int64(integer(words, bits, low)) == word:
        return low
    return NONE


@Kernel
def _weigh(
    below_backoffs: Parts,
    order_probabilities: Parts,
    found: np.ndarray,
    rows: np.ndarray,
    probabilities: np.ndarray,
) -> None:
    values, values_bits, codes = order_probabilities
    backoffs, backoffs_bits, backoff_codes = below_backoffs
    for i in range(len(rows)):
        context, row = found[0, i], found[1, i]
        rows[i] = row
        if row != NONE:
            probabilities[i] = number(values, values_bits, codes, row)
        elif context != NONE:
            probabilities[i] *= number(backoffs, backoffs_bits, backoff_codes, context)


@Kernel
def overlay(
    contexts: np.ndarray,
    below_ends: Parts,
    below_backoffs: Parts,
    order_words: Parts,
    order_probabilities: Parts,
    p_BV: np.ndarray,
) -> None:
    """Turn p(w|h') into p(w|h) in place, for every stream whose context row of h is known."""
    for stream in range(len(contexts)):
        context = contexts[stream]
        if context == NONE:
            continue
        backoffs, bits, codes = below_backoffs
        p_BV[stream] *= number(backoffs, bits, codes, context)
        ends, bits, _ = below_ends
        low = end(ends, bits, context - 1) if context else np.int64(0)
        for row in range(low, end(ends, bits, context)):
            words, word_bits, _ = order_words
            values, value_bits, codes = order_probabilities
            word = integer(words, word_bits, row)
            p_BV[stream, word] = number(values, value_bits, codes, row)
