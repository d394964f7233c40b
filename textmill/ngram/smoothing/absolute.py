"""Interpolated absolute discounting (Ney, Essen and Kneser 1994): one amount off every count.

    p(w|h) = (c(hw) - D) / c(h)  +  D T(h) / c(h)  p(w|h'),  D = n1 / (n1 + 2 n2) of the order

T(h) is how many different words followed h. Kneser-Ney is the same over adjusted counts.
"""

from collections.abc import Iterator

import numpy as np

from textmill.ngram.count import OrderCounts
from textmill.ngram.scratch import Scratch
from textmill.ngram.smoothing.discounts import counts_of_counts, discounts_of
from textmill.ngram.smoothing.interpolation import Shares, Unigrams, interpolated
from textmill.ngram.smoothing.kneser_ney import all_suffixes, discounted
from textmill.ngram.smoothing.witten_bell import raw_counts
from textmill.ngram.tables import OrderTable


def absolute_discounting(
    counts: list[OrderCounts],
    unigrams: Unigrams,
    cutoffs: tuple[int, ...] = (),
    scratch: Scratch | None = None,
) -> tuple[Iterator[OrderTable], list[np.ndarray]]:
    """Tables and discounts (one each) of orders 1 to N."""
    discounts = []
    for n, table in enumerate(counts, start=1):
        how_often = counts_of_counts(raw_counts(table))
        amounts = np.zeros(3)
        if np.any(raw_counts(table)):
            amounts = discounts_of(n, how_often, modified=False)
        discounts.append(amounts)

    def shares(n: int) -> Shares:
        return discounted(raw_counts(counts[n - 1]), discounts[n - 1])

    suffixes = all_suffixes(counts, scratch)
    tables = interpolated(counts, suffixes, shares, unigrams, cutoffs, scratch)
    return tables, [amounts[:1] for amounts in discounts]
