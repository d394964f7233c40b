"""Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1998), as lmplz defines it.

    p(w|h) = (a(hw) - D(a(hw))) / sum over v of a(hv)  +  gamma(h) p(w|h')
    gamma(h) = (D1 N1(h) + D2 N2(h) + D3+ N3+(h)) / sum over v of a(hv)

h' is h without its first word; N3+ counts every a >= 3. The adjusted count a is the raw count at
the highest order and for n-grams that begin with `<s>`, else the number of different words before
the n-gram. The unigrams are interpolated with the uniform distribution over the event space.
Against lmplz's ARPA files all probabilities and backoff weights agree to its float32 rounding.
"""

from collections.abc import Sequence

import numpy as np

from textmill.ngram.config import EventSpace
from textmill.ngram.count import OrderCounts
from textmill.ngram.model import OrderTable
from textmill.ngram.smoothing.discounts import counts_of_counts, modified_discounts
from textmill.tokenizers.vocabulary import BEGIN, END, UNKNOWN


def kneser_ney(
    counts: list[OrderCounts],
    size: int,
    *,
    event_space: EventSpace,
    interpolate_unigrams: bool,
    slipped_rows: Sequence[int] = (),
) -> tuple[list[OrderTable], list[np.ndarray]]:
    """Tables and discounts (3 each) of orders 1 to N.

    slipped_rows: rows of orders 1, 2, ... that enter the counts of counts with their raw count
    (see `kenlm_compat.flushed_rows`); none for the right value.
    """
    tables: list[OrderTable] = []
    discounts: list[np.ndarray] = []
    for n, table in enumerate(counts, start=1):
        adjusted = adjusted_counts(table, counts[n] if n < len(counts) else None)
        how_often = counts_of_counts(adjusted)
        if n <= len(slipped_rows):
            row = slipped_rows[n - 1]
            how_often = _slip(how_often, int(adjusted[row]), int(table.counts[row]))
        amounts = _discounts(n, adjusted, how_often)
        discounts.append(amounts)
        taken = np.append(0.0, amounts)[np.minimum(adjusted, 3)]
        if n == 1:
            events = _events(table.counts, event_space)
            probabilities = _unigrams(adjusted, taken, events, interpolate_unigrams)
        else:
            contexts = table.contexts(size)
            below = tables[-1]
            totals = np.bincount(contexts, weights=adjusted, minlength=len(below.keys))
            freed = np.bincount(contexts, weights=taken, minlength=len(below.keys))
            backoffs = np.divide(freed, totals, out=np.ones(len(totals)), where=totals > 0)
            tables[-1] = OrderTable(below.keys, below.probabilities, backoffs)
            probabilities = (adjusted - taken) / totals[contexts]
            probabilities += backoffs[contexts] * below.probabilities[table.suffixes]
        tables.append(OrderTable(table.keys, probabilities, np.ones(len(table.keys))))
    return tables, discounts


def adjusted_counts(table: OrderCounts, above: OrderCounts | None) -> np.ndarray:
    """a(g), int64: how many different words stand before g; raw at the top and after `<s>`.

    `above`: the next order, None at the highest. `<s>` itself is never predicted and has 0.
    """
    if above is None:
        adjusted = table.counts.copy()
    else:
        distinct = np.bincount(above.suffixes, minlength=len(table.keys))
        adjusted = np.where(table.starts, table.counts, distinct)
    if table.order == 1:
        adjusted[BEGIN] = 0
    return adjusted


def _discounts(n: int, adjusted: np.ndarray, how_often: np.ndarray) -> np.ndarray:
    if not np.any(adjusted):
        return np.zeros(3)
    return modified_discounts(n, how_often)


def _slip(how_often: np.ndarray, adjusted: int, raw: int) -> np.ndarray:
    slipped = how_often.copy()
    if 1 <= adjusted <= 4:
        slipped[adjusted - 1] -= 1
    if 1 <= raw <= 4:
        slipped[raw - 1] += 1
    return slipped


def _events(unigram_counts: np.ndarray, event_space: EventSpace) -> np.ndarray:
    is_event = np.ones(len(unigram_counts), dtype=bool)
    if event_space == "observed":
        is_event = unigram_counts > 0
        is_event[[UNKNOWN, END]] = True
    is_event[BEGIN] = False
    return is_event


def _unigrams(
    adjusted: np.ndarray, taken: np.ndarray, is_event: np.ndarray, interpolate: bool
) -> np.ndarray:
    """p(w) = (a(w) - D) / sum a + the freed mass shared evenly by its receivers."""
    total = adjusted.sum()
    if total == 0:
        return is_event / is_event.sum()
    receives = is_event
    if not interpolate and np.any(is_event & (adjusted == 0)):
        receives = is_event & (adjusted == 0)
    return (adjusted - taken) / total + taken.sum() / total * receives / receives.sum()
