"""What every interpolated method shares: the estimate of an order plus a share of the lower one.

    p(w|h) = numerator(hw) / total(h)  +  backoff(h) p(w|h')
    total(h) = sum over v of weight(hv),  backoff(h) = sum over v of freed(hv) / total(h)

h' is h without its first word. A method says what each n-gram keeps (numerator), gives up (freed)
and counts (weight) by how often it occurs; numerator + freed summed over v is total(h), so p sums
to one. An n-gram that a count cut-off leaves out gives up all its weight. The unigrams are
interpolated with the uniform distribution over the event space.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from textmill.base.compiled import Kernel
from textmill.ngram.config import EventSpace
from textmill.ngram.count import OrderCounts
from textmill.ngram.scratch import Scratch
from textmill.ngram.tables import OrderTable
from textmill.ngram.threads import over_ranges
from textmill.tokenizers.vocabulary import BEGIN, END, UNKNOWN


@dataclass(frozen=True, slots=True)
class Shares:
    """Of an order: what an n-gram of count c keeps, gives up and counts.

    counts: (G), adjusted or raw, as the method has it.
    kept: numerator is kept * c - taken[c], freed (1 - kept) * c + taken[c] + new[c], weight
    c + new[c]. taken, new: float64 (4), by a count of 0, 1, 2, 3 and more.
    """

    counts: np.ndarray
    kept: float = 1.0
    taken: np.ndarray = field(default_factory=lambda: np.zeros(4))
    new: np.ndarray = field(default_factory=lambda: np.zeros(4))

    def parts(self) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
        """What compiled code takes."""
        return self.counts, self.kept, self.taken, self.new


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
    scratch: Scratch | None = None,
) -> Iterator[OrderTable]:
    """Tables of orders 1 to N.

    suffixes: of orders 2 to N, the row of each n-gram without its first word.
    shares: from an order to its n-grams' shares. cutoffs: see `NgramConfig`.
    """
    place = scratch or Scratch()
    below = lowest(counts[0], shares(1), unigrams)
    kept_below = np.ones(0, dtype=bool)
    for n, table in enumerate(counts[1:], start=2):
        least = cutoff(cutoffs, n) + 1
        backoffs = place.zeros(len(table.starts) - 1, np.float64)
        probabilities = place.zeros(len(table.words), np.float64)
        columns = table.starts, shares(n).parts(), table.counts, least
        lower = below.probabilities, suffixes[n - 2], backoffs, probabilities
        over_ranges(lambda first, end: _combine(first, end, *columns, *lower), len(backoffs))  # noqa: B023
        yield without(below.starts, below.words, below.probabilities, backoffs, kept_below)
        place.release()
        kept = table.counts >= least if least > 1 else np.ones(0, dtype=bool)
        starts = without_contexts(table.starts, kept, kept_below)
        below = OrderTable(starts, table.words, probabilities, np.ones(0))
        kept_below = kept
    highest = np.broadcast_to(1.0, len(below.words))
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
    """The rows that are kept, all of them where `kept` is empty; `starts` is already of them."""
    if not len(kept):
        return OrderTable(starts, words, probabilities, backoffs)
    return OrderTable(starts, words[kept], probabilities[kept], backoffs[kept])


def without_contexts(starts: np.ndarray, kept: np.ndarray, kept_below: np.ndarray) -> np.ndarray:
    """Where the kept continuations of each kept context begin; those of others are not kept."""
    if len(kept):
        starts = np.append(0, np.cumsum(kept))[starts]
    return np.append(starts[:-1][kept_below], starts[-1]) if len(kept_below) else starts


def lowest(table: OrderCounts, shares: Shares, unigrams: Unigrams) -> OrderTable:
    """p(w) = numerator / total + the freed mass shared evenly by its receivers."""
    is_event = events(table.counts, unigrams.event_space)
    counts, kept, taken, new = shares.parts()
    taken, new = (amounts[np.minimum(counts, 3)] for amounts in (taken, new))
    total = (counts + new).sum()
    if total == 0:
        probabilities = is_event / is_event.sum()
    else:
        receives = receivers(is_event, counts, unigrams)
        freed = ((1 - kept) * counts + taken + new).sum()
        probabilities = (kept * counts - taken) / total + freed / total * receives / receives.sum()
    return OrderTable(table.starts, table.words, probabilities, np.ones(0))


def receivers(is_event: np.ndarray, counts: np.ndarray, unigrams: Unigrams) -> np.ndarray:
    """Bool (V), which ids share what discounting takes from the unigrams."""
    unseen = is_event & (counts == 0)
    return unseen if not unigrams.interpolate and np.any(unseen) else is_event


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


@Kernel
def _sum(first: int, end: int, starts: np.ndarray, values: np.ndarray, sums: np.ndarray) -> None:
    for context in range(first, end):
        total = 0.0
        for row in range(starts[context], starts[context + 1]):
            total += values[row]
        sums[context] = total


@Kernel
def _combine(
    first: int,
    end: int,
    starts: np.ndarray,
    shares: tuple[np.ndarray, float, np.ndarray, np.ndarray],
    occurrences: np.ndarray,
    least: int,
    below: np.ndarray,
    suffixes: np.ndarray,
    backoffs: np.ndarray,
    probabilities: np.ndarray,
) -> None:
    """Backoffs of the contexts first to end - 1, and probabilities of what follows them."""
    counts, kept, taken, new = shares
    for context in range(first, end):
        rows = range(starts[context], starts[context + 1])
        total, freed = 0.0, 0.0
        for row in rows:
            count = counts[row]
            size = min(count, 3)
            weight = count + new[size]
            total += weight
            if occurrences[row] >= least:
                freed += (1 - kept) * count + taken[size] + new[size]
            else:
                freed += weight
        backoff = freed / total if total else 1.0
        backoffs[context] = backoff
        for row in rows:
            count = counts[row]
            own = kept * count - taken[min(count, 3)] if occurrences[row] >= least else 0.0
            # A product and a sum that are rounded one after the other, as numpy does.
            share = backoff * below[suffixes[row]]
            probabilities[row] = own / total + share
