"""Where a model loses: by the place in the document, and by how frequent the token is in training.

From the scores that the evaluation kept, so nothing is scored anew and any model can be asked.

Suffixes: T tokens, V vocabulary.
"""

import numpy as np

from textmill.diagnosis.records import Bin


def by_position(nats_T: np.ndarray, doc_offsets: np.ndarray) -> tuple[Bin, ...]:
    """Mean nats by place in the document, counted from 1: 1, 2 to 3, 4 to 7, ..."""
    starts_T = np.repeat(doc_offsets[:-1], np.diff(doc_offsets))
    return _bins(nats_T, np.arange(len(nats_T)) - starts_T + 1, base=2)


def by_frequency(nats_T: np.ndarray, tokens_T: np.ndarray, counts_V: np.ndarray) -> tuple[Bin, ...]:
    """Mean nats by the token's count in the training split: 0, 1 to 9, 10 to 99, ..."""
    return _bins(nats_T, counts_V[tokens_T], base=10)


def token_counts(tokens_T: np.ndarray, size: int) -> np.ndarray:
    """(V,) how often each id stands in the training split, line ends and unknown ones too."""
    return np.bincount(tokens_T, minlength=size)


def _bins(nats_T: np.ndarray, values_T: np.ndarray, base: int) -> tuple[Bin, ...]:
    """Bins between powers of `base`, the empty ones left out; tokens given up for lost too."""
    largest = int(values_T.max(initial=0))
    edges = [0, 1]
    while edges[-1] <= largest:
        edges.append(edges[-1] * base)
    place_T = np.searchsorted(edges, values_T, side="right") - 1
    possible_T = np.isfinite(nats_T)
    found = []
    for place, low in enumerate(edges[:-1]):
        here_T = (place_T == place) & possible_T
        if here_T.any():
            high = edges[place + 1] - 1
            found.append(Bin(low, high, int(here_T.sum()), float(nats_T[here_T].mean())))
    return tuple(found)
