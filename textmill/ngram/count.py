"""Counts every n-gram up to order N of a token column, by one sort, without a loop over tokens.

The n-grams are a forward trie in prefix order: the n-grams that continue a context stand together,
in the order of their last words, and the contexts in their own order. So an order is three columns
(last word, count, where each context's continuations begin), no key is stored, and any order fits.

The text is worked on in pieces, each the n-grams that begin with words of one range; pieces are
independent, two are worked on at a time, and joined in order they are the whole. The same pass
over memory serves every order (`sorting`). What Kneser-Ney asks for besides, the row of each
n-gram without its first word, is found from the trie alone (`suffixes`), so that counts that were
read from a file serve as well.

Every line restarts at `<s>`: an n-gram holds `<s>` as its first word or not at all.

Names: T tokens, G n-grams of one order, C n-grams of the order below, N the model's order.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from textmill.base.errors import UserError
from textmill.base.progress import Progress
from textmill.ngram import sorting
from textmill.ngram.scratch import Scratch
from textmill.ngram.threads import THREADS, in_order
from textmill.tokenizers.vocabulary import BEGIN, END

SMALLEST_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class OrderCounts:
    """The n-grams of one order in trie order. Row r of order 1 is the id r, seen or not.

    order: n.
    starts: (C+1), the continuations of row r of the order below are rows starts[r] to starts[r+1];
        of order 1, all rows follow the empty context.
    words: uint32 (G), the last word; ascending after each context.
    counts: (G), occurrences in the text.
    after_begin: the rows from the first to the second number begin with `<s>`, so that nothing
        can stand before them.
    """

    order: int
    starts: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    after_begin: tuple[int, int]

    def seen(self) -> int:
        """How many n-grams the text holds (`<s>` alone is none: it is never predicted)."""
        at_begin = self.order == 1 and self.counts[BEGIN] > 0
        return int(np.count_nonzero(self.counts)) - int(at_begin)


def sentence_stream(
    tokens: np.ndarray, offsets: np.ndarray, size: int, *, crosses_lines: bool = False
) -> np.ndarray:
    """All lines in a row, each as `<s> ... </s>`, uint32.

    tokens: flat ids of all lines, without `<s>`, each line ended by `</s>`.
    offsets: where each line begins in tokens, and the end (lines + 1).
    crosses_lines: the rows are documents, and `</s>` is a word among the others.
    Raises UserError where they are not of a vocabulary of `size` ids.
    """
    lines = len(offsets) - 1
    if len(tokens) and int(tokens.max()) >= size:
        raise UserError(
            f"the tokens hold id {int(tokens.max())}, but the vocabulary ends at {size - 1}",
            next_step="encode the text with this vocabulary",
        )
    ends = offsets[1:] if crosses_lines else np.flatnonzero(tokens == END) + 1
    last = tokens[offsets[1:] - 1] if np.all(np.diff(offsets) > 0) else np.array([BEGIN])
    if offsets[-1] != len(tokens) or not np.array_equal(ends, offsets[1:]) or np.any(last != END):
        raise UserError("each line of tokens must end in </s> and hold it nowhere else")
    if np.any(tokens == BEGIN):
        raise UserError("the tokens hold <s>, which belongs to no text")
    stream = np.empty(len(tokens) + lines, dtype=np.uint32)
    begins = offsets[:-1] + np.arange(lines)
    is_token = np.ones(len(stream), dtype=bool)
    is_token[begins] = False
    stream[begins] = BEGIN
    stream[is_token] = tokens
    return stream


def count_ngrams(
    stream: np.ndarray,
    size: int,
    order: int,
    *,
    piece: int | None = None,
    scratch: Scratch | None = None,
) -> list[OrderCounts]:
    """Counts of orders 1 to `order` of what `sentence_stream` returns.

    piece: how many n-grams are sorted at a time by a thread; those of one first word are not
    parted. scratch: where the counts lie; None: in memory.
    """
    place = scratch or Scratch()
    unigrams = np.bincount(stream, minlength=size)
    ids = np.arange(size, dtype=np.uint32)
    counts = [OrderCounts(1, np.array([0, size]), ids, unigrams, (BEGIN, BEGIN + 1))]
    if order == 1:
        return counts
    wanted = piece or max(SMALLEST_PIECE, -(-len(stream) // (2 * THREADS)))
    parts, pieces = [], list(_pieces(unigrams, wanted))
    counted = in_order(lambda ids: _count_piece(stream, unigrams, ids, size, order), pieces)
    with Progress(len(stream), "tokens", "counting") as progress:
        for (low, high), part in zip(pieces, counted, strict=True):
            parts.append([tuple(map(place.keep, columns)) for columns in part])
            place.release()
            progress.advance(int(unigrams[low:high].sum()))
    joined = _joined(parts, unigrams, place, _row_type(len(stream)))
    for n, (starts, words, occurrences) in enumerate(joined, start=2):
        rows = counts[-1].after_begin
        after_begin = (int(starts[rows[0]]), int(starts[rows[1]]))
        counts.append(OrderCounts(n, starts, words, occurrences, after_begin))
    return counts


Part = list[tuple[np.ndarray, ...]]
"""Of each order: last words, counts, and the first continuation of each row."""


def _pieces(unigrams: np.ndarray, wanted: int) -> Iterator[tuple[int, int]]:
    """Ranges of first words with about `wanted` n-grams each."""
    sums = np.cumsum(unigrams)
    low, done = 0, 0
    while low < len(unigrams):
        high = max(int(np.searchsorted(sums, done + wanted, side="right")), low + 1)
        yield low, high
        low, done = high, int(sums[high - 1])


def _count_piece(
    stream: np.ndarray, unigrams: np.ndarray, ids: tuple[int, int], size: int, order: int
) -> Part:
    """The n-grams whose first word is in the range `ids`."""
    bits = max(int(size - 1).bit_length(), 1)
    words = min(64 // bits, order)
    rest = order - words if order <= 2 * (64 // bits) else 0
    rows = int(unigrams[slice(*ids)].sum())
    low, high = ids
    keys, behind = np.empty((2, rows), np.uint64)
    sorting.gather(stream, low, high, words, rest, bits, keys, behind)
    other_keys, other_behind = np.empty((2, rows), np.uint64)
    if sorting.radix_sort(keys, behind, other_keys, other_behind, words * bits):
        keys, behind = other_keys, other_behind
    del other_keys, other_behind
    shared, lengths = np.empty((2, rows), np.int32)
    sizes = words, rest, bits
    fresh = sorting.measure(stream, keys, behind, *sizes, order, shared, lengths)
    bases = np.zeros(order + 2, np.int64)
    bases[1:] = np.cumsum(fresh[:-1])
    last_words = np.empty(bases[-1], np.uint32)
    counts, children = np.empty((2, bases[-1]), _row_type(len(stream)))
    laid_out = last_words, counts, children
    sorting.lay_out(stream, keys, behind, *sizes, shared, lengths, bases, *laid_out)
    bounds = [slice(bases[n], bases[n + 1]) for n in range(1, order + 1)]
    return [tuple(column[bound] for column in laid_out) for bound in bounds]


def _joined(
    parts: list[Part], unigrams: np.ndarray, scratch: Scratch, row_type: type[np.signedinteger]
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """starts, words and counts of orders 2 and up, all pieces together."""
    for n in range(1, len(parts[0]) if parts else 1):
        starts = scratch.zeros(sum(len(part[n - 1][0]) for part in parts) + 1, row_type)
        at, offset = 0, 0
        for part in parts:
            first = part[n - 1][2]
            np.add(first, offset, out=starts[at : at + len(first)], casting="unsafe")
            at += len(first)
            offset += len(part[n][0])
        starts[-1] = offset
        if n == 1:
            starts = _of_all_ids(starts, unigrams)
        words, counts = (_concatenated([part[n][i] for part in parts], scratch) for i in (0, 1))
        scratch.release()
        yield starts, words, counts


def _concatenated(arrays: list[np.ndarray], scratch: Scratch) -> np.ndarray:
    if len(arrays) == 1:
        return arrays[0]
    whole = scratch.zeros(sum(map(len, arrays)), arrays[0].dtype)
    np.concatenate(arrays, out=whole)
    return whole


def _of_all_ids(starts: np.ndarray, unigrams: np.ndarray) -> np.ndarray:
    """Starts by id from starts by id that was seen."""
    children = np.zeros(len(unigrams) + 1, starts.dtype)
    children[1:][unigrams > 0] = np.diff(starts)
    return np.cumsum(children, dtype=starts.dtype)


def _row_type(n_rows: int) -> type[np.signedinteger]:
    return np.int32 if n_rows < 2**31 - 1 else np.int64
