"""How often each n-gram of 1, 2 and 3 tokens occurs, for reports: counts alone, no look-up.

An n-gram lies within one line; line ends are no tokens here. It is one integer, the ids in base V,
so counting is sorting integers, a block of the text at a time: memory grows with the distinct
n-grams and not with the text. Where few n-grams are possible (characters), they are counted in a
table of all of them. Above 2.6 million types three ids do not fit 64 bits and wrap around; two
trigrams may then share an integer, as two strings may share a hash.
"""

from itertools import pairwise

import numpy as np

ORDERS = (1, 2, 3)
_TOKENS_A_BLOCK = 1 << 23
_DENSE = 1 << 24


class NgramTable:
    """Counts of n-grams of one order over a vocabulary of `size` ids."""

    def __init__(self, order: int, size: int) -> None:
        self._order = order
        self._size = size
        self._is_dense = size**order <= _DENSE
        self._keys = np.zeros(0, np.uint64)
        self._counts = np.zeros(size**order if self._is_dense else 0, np.int64)

    def add(self, ids: np.ndarray, offsets: np.ndarray) -> None:
        """Count the n-grams of lines: flat ids and line offsets."""
        steps = np.searchsorted(offsets, np.arange(0, int(offsets[-1]), _TOKENS_A_BLOCK))
        for first, last in pairwise(np.unique([*steps, len(offsets) - 1]).tolist()):
            start, stop = offsets[first], offsets[last]
            self._add(self._keys_of(ids[start:stop], offsets[first + 1 : last + 1] - start))

    def falling(self) -> np.ndarray:
        """The counts of all n-grams that occur, the highest first."""
        return np.sort(self._counts[self._counts > 0])[::-1]

    def _keys_of(self, ids: np.ndarray, line_ends: np.ndarray) -> np.ndarray:
        n_starts = max(len(ids) - self._order + 1, 0)
        is_whole = np.ones(len(ids), dtype=bool)
        for back in range(1, self._order):
            # In a line that is too short this falls on a line before, which ends there as well.
            is_whole[line_ends[line_ends >= back] - back] = False
        keys = np.zeros(n_starts, np.uint64)
        for place in range(self._order):
            keys *= np.uint64(self._size)
            keys += ids[place : place + n_starts]
        return keys[is_whole[:n_starts]]

    def _add(self, keys: np.ndarray) -> None:
        if self._is_dense:
            self._counts += np.bincount(keys.view(np.int64), minlength=len(self._counts))
            return
        keys.sort()
        first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else keys
        counts = np.diff(first.astype(np.int64), append=len(keys))
        self._merge(keys[first.astype(np.int64)], counts)

    def _merge(self, keys: np.ndarray, counts: np.ndarray) -> None:
        if not len(self._keys):
            self._keys, self._counts = keys, counts
            return
        places = np.searchsorted(self._keys, keys)
        is_known = np.append(self._keys, ~keys[-1:])[places] == keys
        self._counts[places[is_known]] += counts[is_known]
        new = places[~is_known]
        self._keys = np.insert(self._keys, new, keys[~is_known])
        self._counts = np.insert(self._counts, new, counts[~is_known])
