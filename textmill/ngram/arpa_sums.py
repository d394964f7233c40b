"""Whether what a file lists are probabilities: after a history all words together have at most 1.

Less is honest, since it costs the model itself. More would make a perplexity too good. All unigrams
are summed, and all words after some contexts of every order; after one context that takes a look at
the whole vocabulary.
"""

from collections.abc import Iterator

import numpy as np

from textmill.ngram.arpa_names import name_of
from textmill.ngram.model import NgramModel
from textmill.ngram.tables import OrderTable

MOST = 1.01
"""Above 1 for numbers that were written with few digits."""

CONTEXTS = 64
"""Of an order, evenly apart."""

AT_ONCE = 1 << 22
"""Probabilities: 32 MB."""


def too_much(model: NgramModel, tables: list[OrderTable]) -> str | None:
    """What is wrong, in words, or None. tables: the model's orders."""
    for states_CN in _histories(model, tables):
        at_once = max(1, AT_ONCE // model.size)
        for first in range(0, len(states_CN), at_once):
            some_CN = states_CN[first : first + at_once]
            sums_C = np.exp(model.distribution(some_CN)).sum(1)
            worst = int(sums_C.argmax())
            if sums_C[worst] > MOST:
                words = some_CN[worst][some_CN[worst] >= 0]
                names = " ".join(name_of(word, model.vocabulary) for word in words)
                after = f"the words after {names!r}" if names else "the unigrams"
                return f"the probabilities of {after} sum to {sums_C[worst]:.3g}"
    return None


def _histories(model: NgramModel, tables: list[OrderTable]) -> Iterator[np.ndarray]:
    """States (C, N-1): none, then contexts of each order.

    Some that have words after them, and the heaviest of those with and of those without: where no
    word is listed after one, its weight is the sum.
    """
    yield model.null_context(1)
    for n in range(1, len(tables)):
        has_words, backoffs = np.diff(tables[n].starts) > 0, tables[n - 1].backoffs
        rows = np.flatnonzero(has_words)
        rows = rows[np.linspace(0, len(rows) - 1, min(CONTEXTS, len(rows))).astype(np.int64)]
        heaviest = [np.where(which, backoffs, -1.0).argmax() for which in (has_words, ~has_words)]
        rows = np.append(rows, heaviest)
        states = model.null_context(len(rows))
        for depth in range(n - 1, -1, -1):
            states[:, depth - n] = tables[depth].words[rows]
            if depth:
                rows = np.searchsorted(tables[depth].starts, rows, side="right") - 1
        yield states
