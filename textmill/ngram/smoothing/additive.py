"""Maximum likelihood with k added to the count of every event (Lidstone; Laplace for k = 1).

p(w|h) = (c(hw) + k) / (c(h) + k |V|), and 1 / |V| after a history that training never showed.
With k = 0 this is maximum likelihood: what was not seen after a history that was has probability
zero. Written as a backoff model: the explicit part where hw was seen, else k |V| / (c(h) + k |V|)
times the uniform distribution. Lower orders are there to walk the trie and say the same as
uniform; a history cut short by `<s>` is a whole history, not a lower order.
"""

from collections.abc import Iterator

import numpy as np

from textmill.ngram.count import OrderCounts
from textmill.ngram.smoothing.interpolation import sums_after
from textmill.ngram.smoothing.uniform import uniform
from textmill.ngram.tables import OrderTable
from textmill.tokenizers.vocabulary import BEGIN


def additive(counts: list[OrderCounts], size: int, k: float) -> Iterator[OrderTable]:
    """Tables of orders 1 to N from raw counts; |V| is size - 1. Without events it is uniform."""
    spread = k * (size - 1)
    lower = uniform(size)
    if len(counts) == 1:
        events = counts[0].counts + k
        events[BEGIN] = 0.0
        if events.sum() > 0:
            lower = OrderTable(lower.starts, lower.words, events / events.sum(), lower.backoffs)
    for n, table in enumerate(counts[1:], start=2):
        below = counts[n - 2]
        totals = sums_after(table.starts, table.counts.astype(np.float64))
        is_whole = np.full(len(below.words), n == len(counts))
        is_whole[slice(*below.after_begin)] = True
        weights = np.divide(spread, totals + spread, out=np.ones_like(totals), where=totals > 0)
        backoffs = np.where(is_whole, weights, 1.0)
        yield OrderTable(lower.starts, lower.words, lower.probabilities, backoffs)
        contexts = np.repeat(np.arange(len(below.words)), np.diff(table.starts))
        seen = (table.counts + k) / (totals + spread)[contexts]
        probabilities = np.where(is_whole[contexts], seen, 1 / (size - 1))
        lower = OrderTable(table.starts, table.words, probabilities, np.ones(len(table.words)))
    yield lower
