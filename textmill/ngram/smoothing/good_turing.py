"""Good-Turing discounting with backoff (Katz 1987).

    p(w|h) = d(c) c(hw) / c(h) where hw was seen, else alpha(h) p(w|h')
    d(r) = (r*/r - A) / (1 - A),  r* = (r + 1) n_{r+1} / n_r,  A = (K + 1) n_{K+1} / n_1

for counts r up to K, which is `reliable_count`; larger counts are taken as they are. alpha(h)
makes the sum one. An order whose n_r give no discounts between 0 and 1 takes absolute discounting
for itself alone, d(r) = (r - D) / r at every count, and the log says so. A history after which
every count is above K would leave nothing for unseen words: as in SRILM its total is raised by one.
"""

import logging
from collections.abc import Iterator

import numpy as np

from textmill.base.compiled import Kernel
from textmill.ngram.config import EventSpace
from textmill.ngram.count import OrderCounts
from textmill.ngram.scratch import Scratch
from textmill.ngram.smoothing.discounts import counts_of_counts, single_discount
from textmill.ngram.smoothing.interpolation import events, sums_after
from textmill.ngram.smoothing.kneser_ney import all_suffixes
from textmill.ngram.smoothing.witten_bell import raw_counts
from textmill.ngram.tables import OrderTable
from textmill.ngram.threads import over_ranges

_log = logging.getLogger(__name__)


def good_turing(
    counts: list[OrderCounts],
    reliable: int,
    event_space: EventSpace,
    scratch: Scratch | None = None,
) -> tuple[Iterator[OrderTable], list[np.ndarray]]:
    """Tables of orders 1 to N, and d(1), d(2), ... of each."""
    ratios = [katz_ratios(n, raw_counts(table), reliable) for n, table in enumerate(counts, 1)]
    return _tables(counts, ratios, event_space, scratch or Scratch()), ratios


def katz_ratios(order: int, counts: np.ndarray, reliable: int) -> np.ndarray:
    """d(1) to d(reliable), float64; of the fallback, as many as any count needs up to 1,000."""
    n = np.bincount(np.minimum(counts, reliable + 2), minlength=reliable + 3)[1 : reliable + 2]
    if not np.any(n):
        return np.zeros(0)
    r = np.arange(1, reliable + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        left_over = (reliable + 1) * n[-1] / n[0]
        ratios = ((r + 1) * n[1:] / (n[:-1] * r) - left_over) / (1 - left_over)
    wrong = np.flatnonzero(~((ratios > 0) & (ratios < 1)))
    if not len(wrong):
        return ratios
    at = wrong[0]
    _log.warning(
        "order %d: Good-Turing's ratio of count %d is %.4g, outside 0 to 1 (n-grams of count 1 to "
        "%d: %s); this order alone takes absolute discounting%s",
        order,
        at + 1,
        ratios[at],
        reliable + 1,
        ", ".join(map(str, n)),
        "; none occurs once, as with minimum_frequency: 2" if order == 1 and not n[0] else "",
    )
    amount = single_discount(order, counts_of_counts(counts))
    largest = np.arange(1, min(int(counts.max()), 1000) + 1)
    return (largest - amount) / largest


def _tables(
    counts: list[OrderCounts], ratios: list[np.ndarray], event_space: EventSpace, place: Scratch
) -> Iterator[OrderTable]:
    lower = _unigrams(counts[0], ratios[0], event_space)
    above = zip(counts[1:], all_suffixes(counts, place), ratios[1:], strict=True)
    for table, suffixes, ratio in above:
        occurrences = raw_counts(table)
        kept = _kept(occurrences, ratio)
        totals = sums_after(table.starts, occurrences.astype(np.float64))
        totals += (totals > 0) & (sums_after(table.starts, kept) >= totals)
        probabilities = place.zeros(len(table.words), np.float64)
        backoffs = np.ones(len(totals))
        columns = table.starts, kept, totals, lower.probabilities, suffixes
        over_ranges(
            lambda first, end: _back_off(first, end, *columns, probabilities, backoffs),  # noqa: B023
            len(totals),
        )
        yield OrderTable(lower.starts, lower.words, lower.probabilities, backoffs)
        place.release()
        lower = OrderTable(table.starts, table.words, probabilities, np.ones(len(table.words)))
    yield lower


def _kept(counts: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """d(c) c, float64."""
    by_count = np.concatenate([[0.0], ratios, [1.0]])
    return counts * by_count[np.minimum(counts, len(by_count) - 1)]


def _unigrams(table: OrderCounts, ratios: np.ndarray, event_space: EventSpace) -> OrderTable:
    """What discounting leaves goes to the events without a count; without such, to all alike."""
    counts = raw_counts(table)
    is_event = events(counts, event_space)
    kept = _kept(counts, ratios)
    unseen = is_event & (counts == 0)
    total = counts.sum() + float(unseen.any() and kept.sum() >= counts.sum())
    if total == 0:
        probabilities = is_event / is_event.sum()
    elif unseen.any():
        probabilities = kept / total + (1 - kept.sum() / total) * unseen / unseen.sum()
    else:
        probabilities = kept / kept.sum()
    return OrderTable(table.starts, table.words, probabilities, np.ones(0))


@Kernel
def _back_off(
    first: int,
    end: int,
    starts: np.ndarray,
    kept: np.ndarray,
    totals: np.ndarray,
    below: np.ndarray,
    suffixes: np.ndarray,
    probabilities: np.ndarray,
    backoffs: np.ndarray,
) -> None:
    """Probabilities after each context, and the weight that makes them sum to one."""
    for context in range(first, end):
        low, high = starts[context], starts[context + 1]
        if low == high:
            continue
        explicit, lower = 0.0, 0.0
        for row in range(low, high):
            probabilities[row] = kept[row] / totals[context]
            explicit += probabilities[row]
            lower += below[suffixes[row]]
        if 1 - lower > 1e-12:
            backoffs[context] = (1 - explicit) / (1 - lower)
        else:  # every event was seen after this context: nothing is left to back off to
            backoffs[context] = 0.0
            for row in range(low, high):
                probabilities[row] /= explicit
