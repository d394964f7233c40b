"""The row of each n-gram without its first word, one order below, found in the trie itself.

Where h is a context and h' the same without its first word, the words after h are among the words
after h', and both ascend. So the continuations of h are looked up among those of h', by binary
search in the slice that is left; the next order's slices follow from what was found here.
"""

import numpy as np

from textmill.base.compiled import Kernel
from textmill.ngram.count import OrderCounts
from textmill.ngram.scratch import Scratch
from textmill.ngram.threads import over_ranges


def suffix_rows(
    table: OrderCounts,
    below: OrderCounts,
    suffixes_below: np.ndarray | None,
    scratch: Scratch,
) -> np.ndarray:
    """(G) rows in `below` of the n-grams in `table`; of bigrams the row is the word.

    suffixes_below: what this function gave for `below`; None where that is order 1.
    """
    if suffixes_below is None:
        return table.words
    found = scratch.zeros(len(table.words), table.starts.dtype)
    columns = table.starts, table.words, suffixes_below, below.starts, below.words, found
    over_ranges(lambda first, end: _search(first, end, *columns), len(below.words))
    return found


@Kernel
def _search(
    first: int,
    end: int,
    starts: np.ndarray,
    words: np.ndarray,
    suffixes_below: np.ndarray,
    starts_below: np.ndarray,
    words_below: np.ndarray,
    found: np.ndarray,
) -> None:
    for context in range(first, end):
        low = np.int64(0)
        high = np.int64(0)
        least = np.int64(0)  # no word from `low` on is smaller
        for row in range(starts[context], starts[context + 1]):
            if row == starts[context]:
                shorter = suffixes_below[context]
                low, high = starts_below[shorter], starts_below[shorter + 1]
            word = np.int64(words[row])
            # The words ascend, so a word is no further from `low` than from the least word there.
            upper = min(high, low + word - least)
            least = word
            while low < upper:
                middle = (low + upper) >> 1
                if words_below[middle] < word:
                    low = middle + 1
                else:
                    upper = middle
            found[row] = low


@Kernel
def count_before(suffixes: np.ndarray, counts: np.ndarray) -> None:
    """Add to each row how many n-grams have it as suffix: different words that stand before it."""
    for row in suffixes:
        counts[row] += 1
