"""What every interpolated method shares: the estimate of an order plus a share of the lower one.

    p(w|h) = numerator(hw) / total(h)  +  backoff(h) p(w|h')
    total(h) = sum over v of weight(hv),  backoff(h) = sum over v of freed(hv) / total(h)

h' is h without its first word. A method says what each n-gram keeps (numerator), gives up (freed)
and counts (weight); numerator + freed summed over v is total(h), so p sums to one. An n-gram that
a count cut-off leaves out gives up all its weight. The unigrams are interpolated with the uniform
distribution over the event space.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numba
import numpy as np

from textmill.ngram.config import EventSpace
from textmill.ngram.count import OrderCounts
from textmill.ngram.tables import OrderTable
from textmill.ngram.threads import over_ranges
from textmill.tokenizers.vocabulary import BEGIN, END, UNKNOWN


@dataclass(frozen=True, slots=True)
class Shares:
    """float64 (G) each: what every n-gram of an order keeps, gives up and counts."""

    numerators: np.ndarray
    freed: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, slots=True)
class Unigrams:
    """How the lowest order is made (see `NgramConfig`)."""

    event_space: EventSpace
    interpolate: bool


def interpolated(
    counts: list[OrderCounts],
    suffixes: Sequence[np.ndarray],
    shares: Callable[[int], Shares],
    unigrams: Unigrams,
    cutoffs: tuple[int, ...] = (),
) -> Iterator[OrderTable]:
    """Tables of orders 1 to N.

    suffixes: of orders 2 to N, the row of each n-gram without its first word.
    shares: from an order to its n-grams' shares. cutoffs: see `NgramConfig`.
    """
    below = lowest(counts[0], shares(1), unigrams)
    kept_below = np.ones(len(below.words), dtype=bool)
    for n, table in enumerate(counts[1:], start=2):
        parts = shares(n)
        kept = table.counts > cutoff(cutoffs, n)
        if not kept.all():
            parts.freed[~kept] = parts.weights[~kept]
            parts.numerators[~kept] = 0.0
        totals = sums_after(table.starts, parts.weights)
        freed = sums_after(table.starts, parts.freed)
        backoffs = np.divide(freed, totals, out=np.ones(len(totals)), where=totals > 0)
        yield without(below.starts, below.words, below.probabilities, backoffs, kept_below)
        probabilities = np.empty(len(table.words))
        columns = table.starts, parts.numerators, totals, backoffs
        lower = below.probabilities, suffixes[n - 2], probabilities
        over_ranges(lambda first, end: _combine(first, end, *columns, *lower), len(totals))  # noqa: B023
        starts = without_contexts(table.starts, kept, kept_below)
        below = OrderTable(starts, table.words, probabilities, np.ones(0))
        kept_below = kept
    highest = np.ones(len(below.words))
    yield without(below.starts, below.words, below.probabilities, highest, kept_below)


def cutoff(cutoffs: tuple[int, ...], n: int) -> int:
    """The count that n-grams of an order must exceed."""
    return cutoffs[min(n, len(cutoffs)) - 1] if cutoffs else 0


def without(
    starts: np.ndarray,
    words: np.ndarray,
    probabilities: np.ndarray,
    backoffs: np.ndarray,
    kept: np.ndarray,
) -> OrderTable:
    """The rows that are kept; `starts` is already of them."""
    if kept.all():
        return OrderTable(starts, words, probabilities, backoffs)
    return OrderTable(starts, words[kept], probabilities[kept], backoffs[kept])


def without_contexts(starts: np.ndarray, kept: np.ndarray, kept_below: np.ndarray) -> np.ndarray:
    """Where the kept continuations of each kept context begin; those of others are not kept."""
    if kept.all() and kept_below.all():
        return starts
    rows_before = np.append(0, np.cumsum(kept))
    return np.append(rows_before[starts[:-1]][kept_below], rows_before[-1])


def lowest(table: OrderCounts, shares: Shares, unigrams: Unigrams) -> OrderTable:
    """p(w) = numerator / total + the freed mass shared evenly by its receivers."""
    is_event = events(table.counts, unigrams.event_space)
    total = shares.weights.sum()
    if total == 0:
        probabilities = is_event / is_event.sum()
    else:
        receives = is_event
        unseen = is_event & (shares.weights == 0)
        if not unigrams.interpolate and np.any(unseen):
            receives = unseen
        probabilities = shares.numerators / total
        probabilities += shares.freed.sum() / total * receives / receives.sum()
    return OrderTable(table.starts, table.words, probabilities, np.ones(0))


def events(unigram_counts: np.ndarray, event_space: EventSpace) -> np.ndarray:
    """Bool (V), which ids can be predicted."""
    is_event = np.ones(len(unigram_counts), dtype=bool)
    if event_space == "observed":
        is_event = unigram_counts > 0
        is_event[[UNKNOWN, END]] = True
    is_event[BEGIN] = False
    return is_event


def sums_after(starts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """float64 (C), the sum of each context's rows, added in their order."""
    sums = np.zeros(len(starts) - 1)
    over_ranges(lambda first, end: _sum(first, end, starts, values, sums), len(sums))
    return sums


@numba.njit(nogil=True, cache=True)
def _sum(first: int, end: int, starts: np.ndarray, values: np.ndarray, sums: np.ndarray) -> None:
    for context in range(first, end):
        total = 0.0
        for row in range(starts[context], starts[context + 1]):
            total += values[row]
        sums[context] = total


@numba.njit(nogil=True, cache=True)
def _combine(
    first: int,
    end: int,
    starts: np.ndarray,
    numerators: np.ndarray,
    totals: np.ndarray,
    backoffs: np.ndarray,
    below: np.ndarray,
    suffixes: np.ndarray,
    probabilities: np.ndarray,
) -> None:
    for context in range(first, end):
        total, backoff = totals[context], backoffs[context]
        for row in range(starts[context], starts[context + 1]):
            # A product and a sum that are rounded one after the other, as numpy does.
            share = backoff * below[suffixes[row]]
            probabilities[row] = numerators[row] / total + share
