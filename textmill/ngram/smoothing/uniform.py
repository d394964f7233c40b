"""Every event alike: the floor that any model must beat. Perplexity is exactly |V|."""

import numpy as np

from textmill.ngram.tables import OrderTable
from textmill.tokenizers.vocabulary import BEGIN


def uniform(size: int) -> OrderTable:
    """1 / (size - 1) for every id but `<s>`, which has 0."""
    probabilities = np.full(size, 1 / (size - 1))
    probabilities[BEGIN] = 0.0
    ids = np.arange(size, dtype=np.uint32)
    return OrderTable(np.array([0, size]), ids, probabilities, np.ones(size))
