"""From n-grams in any order, as a file lists them, to the tables of a trie."""

from dataclasses import dataclass

import numpy as np

from textmill.ngram.tables import OrderTable


@dataclass(frozen=True, slots=True)
class Listed:
    """n-grams of one order: words int64 (n, G), log10 of probability and weight, (G) each.

    lines: (G) where in the file each stands.
    """

    words: np.ndarray
    log_p: np.ndarray
    log_backoff: np.ndarray
    lines: np.ndarray


class ListedTwiceError(ValueError):
    """An n-gram, by its words, and the line where it stands again."""

    def __init__(self, words: list[int], line: int) -> None:
        super().__init__(words, line)
        self.words = words
        self.line = line


def tables_of(orders: list[Listed], size: int) -> list[OrderTable]:
    """Tables of orders 1 to N; ids that are not listed have probability 0.

    A context that is not listed gets a row: p by its own backoff, weight 1, so that nothing but
    the listed n-grams changes. ListedTwiceError where an n-gram is there twice.
    """
    present = [_rows_with_contexts(orders, n) for n in range(1, len(orders) + 1)]
    probabilities, weights = np.zeros(size), np.ones(size)
    probabilities[orders[0].words[0]] = 10.0 ** orders[0].log_p
    probabilities[1] = 0.0  # <s> is never predicted, whatever a file says of it
    weights[orders[0].words[0]] = 10.0 ** orders[0].log_backoff
    tables = [
        OrderTable(np.array([0, size]), np.arange(size, dtype=np.uint32), probabilities, weights)
    ]
    rows_below = np.arange(size)[None, :]
    for n in range(2, len(orders) + 1):
        words = present[n - 1]
        context_rows = find(words[:-1], rows_below)
        starts = np.searchsorted(context_rows, np.arange(rows_below.shape[1] + 1))
        p, weights = np.full(words.shape[1], np.nan), np.ones(words.shape[1])
        listed = orders[n - 1]
        at = find(listed.words, words)
        twice = repeated(at)
        if twice is not None:
            raise ListedTwiceError(listed.words[:, twice].tolist(), int(listed.lines[twice]))
        p[at] = 10.0**listed.log_p
        weights[at] = 10.0**listed.log_backoff
        missing = np.isnan(p)
        if missing.any():
            suffix_p = _by_backoff(words[1:, missing], tables)
            p[missing] = tables[-1].backoffs[context_rows[missing]] * suffix_p
        tables.append(OrderTable(starts, words[-1].astype(np.uint32), p, weights))
        rows_below = words
    return tables


def repeated(rows: np.ndarray) -> int | None:
    """The first place of a number (0 or more) that was there before, None without one."""
    if not len(rows) or np.bincount(rows).max() <= 1:
        return None
    _, first = np.unique(rows, return_index=True)
    return int(np.setdiff1d(np.arange(len(rows)), first)[0])


def _rows_with_contexts(orders: list[Listed], n: int) -> np.ndarray:
    """(n, G) words, sorted, each once: those listed and all beginnings of longer ones."""
    columns = [listed.words[:n] for listed in orders[n - 1 :]]
    return sorted_columns(np.concatenate(columns, axis=1))


def sorted_columns(words: np.ndarray) -> np.ndarray:
    """(n, G) the different columns, in the order of their words."""
    words = words[:, np.lexsort(words[::-1])]
    new = np.ones(words.shape[1], dtype=bool)
    new[1:] = np.any(words[:, 1:] != words[:, :-1], axis=0)
    return words[:, new]


def find(wanted: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Where each column of `wanted` stands among the sorted columns of `rows`.

    If it is not there, where the last column before it stands, -1 if there is none.
    """
    both = np.concatenate([rows, wanted], axis=1)
    is_wanted = np.arange(both.shape[1]) >= rows.shape[1]
    by_words = np.lexsort((is_wanted, *both[::-1]))
    row = np.cumsum(~is_wanted[by_words]) - 1
    found = np.empty(both.shape[1], np.int64)
    found[by_words] = row
    return found[rows.shape[1] :]


def _by_backoff(words: np.ndarray, tables: list[OrderTable]) -> np.ndarray:
    """P of the last word of each column after the words before it, from the orders below."""
    p = tables[0].probabilities[words[-1]]
    for length in range(2, len(words) + 1):
        ngrams = words[len(words) - length :]
        rows, known = ngrams[0].copy(), np.ones(ngrams.shape[1], dtype=bool)
        for depth in range(1, length):
            table = tables[depth]
            if depth == length - 1:
                p = np.where(known, p * tables[depth - 1].backoffs[rows], p)
            at, hit = _step(table, rows, ngrams[depth])
            rows, known = np.where(hit & known, at, 0), known & hit
        p = np.where(known, tables[length - 1].probabilities[rows], p)
    return p


def _step(
    table: OrderTable, contexts: np.ndarray, words: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Row of each (context, word), and whether it is there."""
    size = int(max(table.words.max(initial=0), words.max(initial=0))) + 1
    keys = table.contexts() * size + table.words
    wanted = contexts * size + words
    at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    return at, keys[at] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
