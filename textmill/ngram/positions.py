"""Which n-grams of every order end at each token of another text."""

from itertools import pairwise

import numpy as np

from textmill.ngram.columns import of_integers, of_numbers
from textmill.ngram.count import OrderCounts
from textmill.ngram.query import NONE, extend
from textmill.tokenizers.vocabulary import BEGIN


def rows_of_orders(stream: np.ndarray, counts: list[OrderCounts]) -> tuple[np.ndarray, np.ndarray]:
    """Rows and context rows, int64 (N, T) each, NONE where there is none.

    stream: of `sentence_stream`; T are its tokens but `<s>`, which is never predicted.
    """
    words = stream.astype(np.int64)
    predicted = words != BEGIN
    rows, contexts = [words], [np.zeros(len(words), np.int64)]
    for below, table in pairwise(counts):
        ends = of_integers(table.starts[1:]).parts()
        weights = of_numbers(np.ones(len(below.words)), "double").parts()
        order_words = of_integers(table.words).parts()
        values = of_numbers(np.ones(len(table.words)), "double").parts()
        found = np.empty_like(words)
        p = np.ones(len(words))
        columns = ends, weights, order_words, values, found, p
        extend(0, len(words), words, rows[-1], NONE, NONE, *columns)
        contexts.append(np.append(NONE, rows[-1][:-1]))
        rows.append(found)
    chosen = [np.stack(columns)[:, predicted] for columns in (rows, contexts)]
    return chosen[0], chosen[1]
