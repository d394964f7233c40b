"""Repeats a slip of lmplz, so that its files can be compared number by number.

lmplz walks the n-grams in suffix order. Those still open when the text ends, the last one of each
order below the highest, enter the counts of counts with their raw count instead of their adjusted
count (kpu/kenlm issue 405). The discounts and with them every probability move a little: log10 p
by up to 6e-4 on a million words, by nothing visible on ten million.
"""

import numpy as np

from textmill.ngram.count import OrderCounts
from textmill.tokenizers.vocabulary import BEGIN, END, UNKNOWN


def flushed_rows(stream: np.ndarray, counts: list[OrderCounts], size: int) -> list[int]:
    """Rows, in orders 1, 2, ... below the highest, of the n-gram that is last in suffix order.

    lmplz numbers words by first appearance, after `<unk>`, `<s>` and `</s>`. The list ends early
    where the n-gram begins with `<s>`: nothing stands before it.
    """
    if not len(stream):
        return []
    rank = np.full(size, -1)
    rank[stream[::-1]] = np.arange(len(stream))[::-1]
    rank[[UNKNOWN, BEGIN, END]] = -3, -2, -1
    words: list[int] = []
    rows = []
    positions = np.arange(len(stream))
    for n in range(1, len(counts)):
        before = stream[positions - (n - 1)]
        words.insert(0, int(before[np.argmax(rank[before])]))
        positions = positions[before == words[0]]
        rows.append(_row_of(words, counts))
        if words[0] == BEGIN:
            break
    return rows


def _row_of(words: list[int], counts: list[OrderCounts]) -> int:
    row = words[0]
    for word, table in zip(words[1:], counts[1:], strict=False):
        after = slice(table.starts[row], table.starts[row + 1])
        row = int(after.start + np.searchsorted(table.words[after], word))
    return row
