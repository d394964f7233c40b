"""Every event alike: the floor that any model must beat. Perplexity is exactly |V|."""

import numpy as np

from textmill.ngram.model import OrderTable
from textmill.tokenizers.vocabulary import BEGIN


def uniform(size: int) -> list[OrderTable]:
    """1 / (size - 1) for every id but `<s>`, which has 0."""
    probabilities = np.full(size, 1 / (size - 1))
    probabilities[BEGIN] = 0.0
    return [OrderTable(np.arange(size), probabilities, np.ones(size))]
