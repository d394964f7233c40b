"""Interpolated Witten-Bell smoothing (1991, method C): new words as often as they have come.

    p(w|h) = c(hw) / (c(h) + T(h))  +  T(h) / (c(h) + T(h))  p(w|h')

T(h) is how many different words followed h.
"""

from collections.abc import Iterator

import numpy as np

from textmill.ngram.count import OrderCounts
from textmill.ngram.scratch import Scratch
from textmill.ngram.smoothing.interpolation import Shares, Unigrams, interpolated
from textmill.ngram.smoothing.kneser_ney import all_suffixes
from textmill.ngram.tables import OrderTable
from textmill.tokenizers.vocabulary import BEGIN


def witten_bell(
    counts: list[OrderCounts],
    unigrams: Unigrams,
    cutoffs: tuple[int, ...] = (),
    scratch: Scratch | None = None,
) -> Iterator[OrderTable]:
    """Tables of orders 1 to N."""

    def shares(n: int) -> Shares:
        return Shares(raw_counts(counts[n - 1]), new=np.array([0.0, 1.0, 1.0, 1.0]))

    return interpolated(counts, all_suffixes(counts, scratch), shares, unigrams, cutoffs, scratch)


def raw_counts(table: OrderCounts) -> np.ndarray:
    """Occurrences; `<s>` alone is never predicted and has 0."""
    if table.order > 1:
        return table.counts
    counts = table.counts.copy()
    counts[BEGIN] = 0
    return counts
