"""What the orders below give to the n-grams of an order: p(w|h') for every hw."""

import numpy as np

from textmill.ngram.config import IMPORTED, NgramConfig
from textmill.ngram.model import NgramModel
from textmill.ngram.tables import OrderTable, pack, words_of
from textmill.tokenizers.vocabulary import Vocabulary

BLOCK = 1 << 18


def lower_probabilities(tables: list[OrderTable], n: int, vocabulary: Vocabulary) -> np.ndarray:
    """float64 (G) for the n-grams of order n, from the orders below as they stand in `tables`.

    Where the shorter n-gram is not listed, the weights of its contexts count.
    """
    table = tables[n - 1]
    model = NgramModel(
        vocabulary,
        NgramConfig("", IMPORTED, n - 1, sentence_boundaries=False),
        list(pack(tables[: n - 1], "double")),
        ngrams=(),
    )
    found = np.empty(len(table.words))
    for first in range(0, len(table.words), BLOCK):
        rows = np.arange(first, min(first + BLOCK, len(table.words)))
        words = words_of(tables, n, rows)
        nats, _ = model.score(words[-1][:, None], words[1:-1].T.astype(np.int64))
        found[rows] = np.exp(-nats[:, 0])
    return found
