"""Counts every n-gram up to order N of a token column, by sorting, without a loop over tokens.

The n-grams are a forward trie. A row of order n is named by (row of its first n-1 words in order
n-1, last word), packed into one int64 key, so any order fits and a context's continuations are
one slice of the sorted keys. The row that ends at each position of the text is carried from
order to order: one argsort an order is all there is, about 0.2 s a million tokens and order on
one core. The same pass notes each n-gram's suffix (the n-gram without its first word), from which
Kneser-Ney's continuation counts follow by one bincount.

Every line restarts at `<s>`: an n-gram holds `<s>` as its first word or not at all.

Names: T tokens, G n-grams of one order, N the model's order.
"""

from dataclasses import dataclass

import numpy as np

from textmill.base.errors import UserError
from textmill.tokenizers.vocabulary import BEGIN, END


@dataclass(frozen=True, slots=True)
class OrderCounts:
    """The n-grams of one order in trie order. Row r of order 1 is the id r, seen or not.

    order: n.
    keys: int64 (G), row of the context in the order below * size + word, strictly ascending.
    counts: int64 (G), occurrences in the text.
    suffixes: (G), row in the order below of the n-gram without its first word; empty at order 1.
    starts: bool (G), whether the first word is `<s>`, so that nothing can stand before it.
    """

    order: int
    keys: np.ndarray
    counts: np.ndarray
    suffixes: np.ndarray
    starts: np.ndarray

    def contexts(self, size: int) -> np.ndarray:
        """Row of each n-gram's context in the order below (orders above 1)."""
        return self.keys // size

    def seen(self) -> int:
        """How many n-grams the text holds (`<s>` alone is none: it is never predicted)."""
        at_begin = self.order == 1 and self.counts[BEGIN] > 0
        return int(np.count_nonzero(self.counts)) - int(at_begin)


def sentence_stream(tokens: np.ndarray, offsets: np.ndarray, size: int) -> np.ndarray:
    """All lines in a row, each as `<s> ... </s>`.

    tokens: flat ids of all lines, without `<s>`, each line ended by `</s>`.
    offsets: where each line begins in tokens, and the end (lines + 1).
    Raises UserError where they are not of a vocabulary of `size` ids.
    """
    lines = len(offsets) - 1
    if len(tokens) and int(tokens.max()) >= size:
        raise UserError(
            f"the tokens hold id {int(tokens.max())}, but the vocabulary ends at {size - 1}",
            next_step="encode the text with this vocabulary",
        )
    ends = np.flatnonzero(tokens == END) + 1
    if offsets[-1] != len(tokens) or not np.array_equal(ends, offsets[1:]):
        raise UserError("each line of tokens must end in </s> and hold it nowhere else")
    if np.any(tokens == BEGIN):
        raise UserError("the tokens hold <s>, which belongs to no text")
    stream = np.empty(len(tokens) + lines, dtype=_row_type(len(tokens) + lines))
    begins = np.zeros(len(stream), dtype=bool)
    begins[offsets[:-1] + np.arange(lines)] = True
    stream[begins] = BEGIN
    stream[~begins] = tokens
    return stream


def count_ngrams(stream: np.ndarray, size: int, order: int) -> list[OrderCounts]:
    """Counts of orders 1 to `order` of what `sentence_stream` returns."""
    ids = np.arange(size)
    counts = [OrderCounts(1, ids, np.bincount(stream, minlength=size), ids[:0], ids == BEGIN)]
    rows = stream
    for _ in range(1, order):
        table, rows = _extend(stream, rows, counts[-1], size)
        counts.append(table)
    return counts


def _extend(
    stream: np.ndarray, rows: np.ndarray, below: OrderCounts, size: int
) -> tuple[OrderCounts, np.ndarray]:
    """One order more. `rows`: the row of the n-gram that ends at each position, -1 for none."""
    positions = np.flatnonzero((rows[:-1] >= 0) & (stream[1:] != BEGIN)) + 1
    keys = rows[positions - 1].astype(np.int64) * size + stream[positions]
    by_key = np.argsort(keys)
    keys = keys[by_key]
    positions = positions[by_key]
    is_first = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    first = np.flatnonzero(is_first)
    longer_rows = np.full(len(stream), -1, dtype=rows.dtype)
    longer_rows[positions] = np.cumsum(is_first) - 1
    keys = keys[first]
    table = OrderCounts(
        order=below.order + 1,
        keys=keys,
        counts=np.diff(first, append=len(positions)),
        suffixes=rows[positions[first]],
        starts=below.starts[keys // size],
    )
    return table, longer_rows


def _row_type(n_rows: int) -> type[np.signedinteger]:
    return np.int32 if n_rows < 2**31 else np.int64
