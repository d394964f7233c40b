"""One representation of every n-gram model: a trie with a probability and a weight an n-gram.

Whatever the method, p(w|h) is the probability stored for the longest n-gram that ends hw and is
there, times the backoff weights of the contexts that were longer. An interpolated method stores
the sum of all its terms, a backoff method the discounted estimate alone; the reader need not know.
`OrderTable` is an order as the methods make it, `PackedOrder` as it is queried and stored.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from textmill.base.compiled import Kernel
from textmill.ngram.columns import Column, Precision, of_ends, of_integers, of_numbers


class Trie(Protocol):
    """What an order of n-grams has, whatever it says of them."""

    @property
    def starts(self) -> np.ndarray:
        """(C+1), where the continuations of each row of the order below begin, and the end."""
        ...

    @property
    def words(self) -> np.ndarray:
        """uint32 (G), the last words."""
        ...


@dataclass(frozen=True, slots=True)
class OrderTable:
    """One order; C n-grams in the order below, G in this one. Row r of order 1 is the id r.

    starts: (C+1), the words after row r of the order below are rows starts[r] to starts[r+1].
    words: uint32 (G), the last word; ascending after each context.
    probabilities: float64 (G), p(last word | the words before it).
    backoffs: float64 (G), the weight of the lower order after this n-gram; 1 if nothing followed.
    """

    starts: np.ndarray
    words: np.ndarray
    probabilities: np.ndarray
    backoffs: np.ndarray

    def contexts(self) -> np.ndarray:
        """int64 (G), row of each n-gram's context in the order below."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


@dataclass(frozen=True, slots=True)
class PackedOrder:
    """One order in columns; backoffs and ends are None at the highest order.

    ends: the words after row r are rows ends[r-1] (0 for r = 0) to ends[r] of the order above.
    """

    words: Column
    probabilities: Column
    backoffs: Column | None
    ends: Column | None


def pack(tables: Iterable[OrderTable], precision: Precision) -> Iterator[PackedOrder]:
    """Columns of each order; an order is let go of once the next one is there.

    Unigrams are never coded: they are few, and the most frequent words have the most to lose.
    """
    lower: OrderTable | None = None
    for table in tables:
        if lower is not None:
            yield _packed(lower, table.starts, precision)
        lower = table
    if lower is not None:
        yield _packed(lower, None, precision)


def unpack(orders: Iterable[PackedOrder]) -> Iterator[OrderTable]:
    """The tables that `pack` was given, in the precision that it kept."""
    starts = None
    for order in orders:
        rows = order.words.rows
        yield OrderTable(
            np.array([0, rows]) if starts is None else starts,
            order.words.integers().astype(np.uint32),
            order.probabilities.numbers(),
            np.ones(rows) if order.backoffs is None else order.backoffs.numbers(),
        )
        if order.ends is not None:
            starts = np.append(0, order.ends.integers())


def held(seen: Sequence[int], rows: Sequence[int]) -> tuple[int, ...]:
    """How many n-grams of each order a model holds, which pruning and cut-offs make fewer.

    seen: in training. rows: of each order's table; that of order 1 has one for every id, so there
    it is those that were seen.
    """
    return (*seen[:1], *rows[1:])


def words_of(tables: Sequence[Trie], n: int, rows: np.ndarray) -> np.ndarray:
    """uint32 (n, rows): the words of some rows of order n, in ascending order."""
    words = np.empty((n, len(rows)), np.uint32)
    at = rows
    for level in range(n, 0, -1):
        words[level - 1] = tables[level - 1].words[at]
        if level > 1:
            at = contexts_of(at, tables[level - 1].starts)
    return words


@Kernel
def contexts_of(rows: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Context row of each of some ascending rows."""
    contexts = np.empty(len(rows), np.int64)
    if len(rows):
        context = np.searchsorted(starts, rows[0], side="right") - 1
        for at in range(len(rows)):
            while starts[context + 1] <= rows[at]:
                context += 1
            contexts[at] = context
    return contexts


def _packed(table: OrderTable, starts: np.ndarray | None, precision: Precision) -> PackedOrder:
    """starts: those of the order above, None where there is none."""
    if precision == "coded" and len(table.starts) == 2:
        precision = "single"
    return PackedOrder(
        of_integers(table.words),
        of_numbers(table.probabilities, precision),
        None if starts is None else of_numbers(table.backoffs, precision),
        None if starts is None else of_ends(starts[1:], precision),
    )
