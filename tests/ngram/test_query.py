"""Queries of more words than go through at once, and of slices of every size."""

import numpy as np

from textmill.ngram import query
from textmill.ngram.columns import of_integers


def test_a_word_is_found_in_any_slice_where_it_is():
    rng = np.random.default_rng(0)
    words = np.sort(rng.choice(400, 90, replace=False))
    parts = of_integers(words).parts()
    for low in range(0, 90, 7):
        for high in range(low, 91, 5):
            places = {int(word): low + at for at, word in enumerate(words[low:high])}
            for word in range(400):
                assert query.find(low, high, word, parts) == places.get(word, query.NONE)
