"""Interpolated Kneser-Ney smoothing, modified (Chen and Goodman 1998) as lmplz defines it.

    p(w|h) = (a(hw) - D(a(hw))) / sum over v of a(hv)  +  gamma(h) p(w|h')
    gamma(h) = (D1 N1(h) + D2 N2(h) + D3+ N3+(h)) / sum over v of a(hv)

h' is h without its first word; N3+ counts every a >= 3. The adjusted count a is the raw count at
the highest order and for n-grams that begin with `<s>`, else the number of different words before
the n-gram. The unigrams are interpolated with the uniform distribution over the event space.
Unmodified, all three discounts of an order are one: n1 / (n1 + 2 n2) (Ney, Essen and Kneser 1994).
Against lmplz's ARPA files all probabilities and backoff weights agree to its float32 rounding.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from textmill.ngram.count import OrderCounts
from textmill.ngram.scratch import Scratch
from textmill.ngram.smoothing.discounts import counts_of_counts, discounts_of
from textmill.ngram.smoothing.interpolation import Shares, Unigrams, interpolated
from textmill.ngram.suffixes import count_before, suffix_rows
from textmill.ngram.tables import OrderTable
from textmill.tokenizers.vocabulary import BEGIN


def kneser_ney(
    counts: list[OrderCounts],
    unigrams: Unigrams,
    *,
    modified: bool,
    cutoffs: tuple[int, ...] = (),
    slipped_rows: Sequence[int] = (),
    scratch: Scratch | None = None,
) -> tuple[Iterator[OrderTable], list[np.ndarray]]:
    """Tables and discounts (3 each) of orders 1 to N.

    slipped_rows: rows of orders 1, 2, ... that enter the counts of counts with their raw count
    (see `kenlm_compat.flushed_rows`); none for the right value.
    """
    place = scratch or Scratch()
    suffixes = all_suffixes(counts, place)
    adjusted, discounts = [], []
    for n, table in enumerate(counts, start=1):
        above = suffixes[n - 1] if n < len(counts) else None
        adjusted.append(adjusted_counts(table, above, place))
        how_often = counts_of_counts(adjusted[-1])
        if n <= len(slipped_rows):
            row = slipped_rows[n - 1]
            how_often = _slip(how_often, int(adjusted[-1][row]), int(table.counts[row]))
        amounts = np.zeros(3)
        if np.any(adjusted[-1]):
            amounts = discounts_of(n, how_often, modified=modified)
        discounts.append(amounts)
        place.release()

    def shares(n: int) -> Shares:
        return discounted(adjusted[n - 1], discounts[n - 1])

    return interpolated(counts, suffixes, shares, unigrams, cutoffs, place), discounts


def all_suffixes(counts: list[OrderCounts], scratch: Scratch | None = None) -> list[np.ndarray]:
    """Of orders 2 to N, the row of each n-gram without its first word."""
    place = scratch or Scratch()
    suffixes: list[np.ndarray] = []
    for n in range(2, len(counts) + 1):
        below = suffixes[-1] if suffixes else None
        suffixes.append(suffix_rows(counts[n - 1], counts[n - 2], below, place))
        place.release()
    return suffixes


def adjusted_counts(
    table: OrderCounts, suffixes_above: np.ndarray | None, scratch: Scratch
) -> np.ndarray:
    """a(g): how many different words stand before g; raw at the top and after `<s>`.

    suffixes_above: of the next order, None at the highest. `<s>` itself is never predicted and
    has 0.
    """
    if suffixes_above is None:
        adjusted = table.counts
    else:
        adjusted = scratch.zeros(len(table.counts), table.counts.dtype)
        count_before(suffixes_above, adjusted)
        begin = slice(*table.after_begin)
        adjusted[begin] = table.counts[begin]
    if table.order == 1:
        adjusted = np.where(np.arange(len(adjusted)) == BEGIN, 0, adjusted)
    return adjusted


def discounted(counts: np.ndarray, amounts: np.ndarray) -> Shares:
    """Counts less a discount by how large they are (1, 2, 3 and more)."""
    return Shares(counts, taken=np.append(0.0, amounts))


def _slip(how_often: np.ndarray, adjusted: int, raw: int) -> np.ndarray:
    slipped = how_often.copy()
    if 1 <= adjusted <= 4:
        slipped[adjusted - 1] -= 1
    if 1 <= raw <= 4:
        slipped[raw - 1] += 1
    return slipped
