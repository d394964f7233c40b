"""Stupid backoff (Brants and others 2007): relative frequencies and a fixed weight, no smoothing.

    S(w|h) = c(hw) / c(h) where hw was seen, else alpha S(w|h'),  S(w) = c(w) / N

These are scores, not probabilities: after a history they do not sum to one, so no perplexity is
computed of them. alpha is charged where h was seen and w did not follow; a history that was never
seen is only shortened, as in every other method here.
"""

from collections.abc import Iterator

import numpy as np

from textmill.ngram.count import OrderCounts
from textmill.ngram.smoothing.interpolation import sums_after
from textmill.ngram.smoothing.witten_bell import raw_counts
from textmill.ngram.tables import OrderTable


def stupid_backoff(counts: list[OrderCounts], alpha: float) -> Iterator[OrderTable]:
    """Tables of orders 1 to N; the weight of a context that nothing followed stays 1."""
    followed = [np.diff(table.starts) > 0 for table in counts[1:]]
    for n, table in enumerate(counts, start=1):
        occurrences = raw_counts(table).astype(np.float64)
        totals = np.repeat(sums_after(table.starts, occurrences), np.diff(table.starts))
        scores = np.divide(occurrences, totals, out=np.zeros(len(totals)), where=totals > 0)
        backoffs = np.ones(len(scores))
        if n < len(counts):
            backoffs[followed[n - 1]] = alpha
        yield OrderTable(table.starts, table.words, scores, backoffs)
