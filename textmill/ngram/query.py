"""The compiled inside of a query: one order at a time, a binary search a token.

The row of the n-gram of order n-1 that ends before a token is known from the order below. Among
the words after it the token is searched for: if it is there, its probability holds, if not, the
weight of the context multiplies what the lower order said. A word is never further from the
beginning of the slice than its id is from 0, so frequent words, which have small ids, are found in
few steps. The tokens of an order do not wait for one another, so the processor overlaps them.
"""

import numpy as np

from textmill.base.compiled import Kernel
from textmill.ngram.columns import integer, number

NONE = -1

Parts = tuple[np.ndarray, int, np.ndarray]


@Kernel
def extend(
    first: int,
    end: int,
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
    """For positions first to end - 1 of a stream: rows of this order, and p(w|h) from p(w|h').

    words: (T); contexts: (T) rows of the order below that end at each position, or NONE.
    reset: the word after which the context is `begin` instead of what ends there.
    """
    for at in range(first, end):
        rows[at] = NONE
        if at == 0:
            continue
        context = begin if words[at - 1] == reset else contexts[at - 1]
        if context == NONE:
            continue
        row = find(context, words[at], below_ends, order_words)
        if row == NONE:
            backoffs, bits, codes = below_backoffs
            probabilities[at] *= number(backoffs, bits, codes, context)
        else:
            values, bits, codes = order_probabilities
            probabilities[at] = number(values, bits, codes, row)
            rows[at] = row


@Kernel
def find(context: int, word: int, below_ends: Parts, order_words: Parts) -> int:
    """The row of (context, word), NONE where it is not there."""
    ends, bits, _ = below_ends
    low = int(np.int64(integer(ends, bits, context - 1))) if context else 0
    last = int(np.int64(integer(ends, bits, context)))
    high = min(last, low + word + 1)
    words, bits, _ = order_words
    while low < high:
        middle = (low + high) >> 1
        if np.int64(integer(words, bits, middle)) < word:
            low = middle + 1
        else:
            high = middle
    if low < last and np.int64(integer(words, bits, low)) == word:
        return low
    return NONE


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
        low = np.int64(integer(ends, bits, context - 1)) if context else 0
        for row in range(low, np.int64(integer(ends, bits, context))):
            words, word_bits, _ = order_words
            values, value_bits, codes = order_probabilities
            word = integer(words, word_bits, row)
            p_BV[stream, word] = number(values, value_bits, codes, row)
