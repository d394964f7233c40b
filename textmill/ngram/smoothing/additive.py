"""Maximum likelihood with k added to the count of every event (Lidstone; Laplace for k = 1).

p(w|h) = (c(hw) + k) / (c(h) + k |V|), and 1 / |V| after a history that training never showed.
Written as a backoff model: the explicit part where hw was seen, else k |V| / (c(h) + k |V|) times
the uniform distribution. Lower orders are there to walk the trie and say the same as uniform; a
history cut short by `<s>` is a whole history, not a lower order.
"""

from itertools import pairwise

import numpy as np

from textmill.ngram.count import OrderCounts
from textmill.ngram.model import OrderTable
from textmill.ngram.smoothing.uniform import uniform
from textmill.tokenizers.vocabulary import BEGIN


def additive(counts: list[OrderCounts], size: int, k: float) -> list[OrderTable]:
    """Tables of orders 1 to N from raw counts; |V| is size - 1."""
    spread = k * (size - 1)
    tables = uniform(size)
    if len(counts) == 1:
        events = counts[0].counts + k
        events[BEGIN] = 0.0
        return [OrderTable(counts[0].keys, events / events.sum(), np.ones(size))]
    for n, (below, table) in enumerate(pairwise(counts), start=2):
        contexts = table.contexts(size)
        totals = np.bincount(contexts, weights=table.counts, minlength=len(below.keys))
        is_whole = below.starts | (n == len(counts))
        backoffs = np.where(is_whole, spread / (totals + spread), 1.0)
        tables[-1] = OrderTable(below.keys, tables[-1].probabilities, backoffs)
        seen = (table.counts + k) / (totals + spread)[contexts]
        probabilities = np.where(is_whole[contexts], seen, 1 / (size - 1))
        tables.append(OrderTable(table.keys, probabilities, np.ones(len(table.keys))))
    return tables
