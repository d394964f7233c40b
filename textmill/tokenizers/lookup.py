"""Distinct texts and their rows, in a hash table that compiled loops fill and read.

Tokens come by falling frequency, and whoever comes first gets the slot that is looked at first, so
nearly every token of a text is found by one look. Equal hashes make no token another: see
`kernels.intern`.
"""

import numpy as np
import pyarrow as pa

from textmill.base.compiled import read_only
from textmill.tokenizers import kernels
from textmill.tokenizers.strings import Units, eight_from_everywhere, from_flat, units_of

_ROWS = 1 << 9
_BYTES = 1 << 13
_NO_WEIGHTS = read_only(np.zeros(0, np.int64))


class TokenTable:
    """Texts, numbered from 0 in the order in which they were added, each with a count."""

    def __init__(self) -> None:
        self._n = 0
        self._slots = np.zeros((2 * _ROWS, 2), np.uint64)
        self._counts = np.empty(_ROWS, np.int64)
        self._offsets = np.zeros(_ROWS + 1, np.int64)
        self._texts = np.empty(_BYTES, np.uint8)

    def __len__(self) -> int:
        return self._n

    @property
    def counts(self) -> np.ndarray:
        """int64, a row a text."""
        return self._counts[: self._n]

    @property
    def texts(self) -> pa.LargeStringArray:
        """The texts in the order of their rows."""
        offsets = self._offsets[: self._n + 1]
        return from_flat(self._texts[: offsets[-1]], offsets)

    def add(self, units: Units, weights: np.ndarray = _NO_WEIGHTS) -> np.ndarray:
        """int32 row of each unit; new ones are added. weights: int64, of each; empty: one each."""
        rows = np.empty(len(units), np.int32)
        done = self._intern(units, weights, 0, rows, adds=True)
        while done < len(units):
            self._grow(int(units.ends[done] - units.starts[done]))
            done = self._intern(units, weights, done, rows, adds=True)
        return rows

    def rows_of(self, units: Units) -> np.ndarray:
        """int32 row of each unit, -1 for those that are not here."""
        rows = np.empty(len(units), np.int32)
        self._intern(units, _NO_WEIGHTS, 0, rows, adds=False)
        return rows

    def _intern(
        self, units: Units, weights: np.ndarray, first: int, rows: np.ndarray, *, adds: bool
    ) -> int:
        done, n = kernels.intern(
            eight_from_everywhere(units.data),
            read_only(units.starts),
            read_only(units.ends),
            read_only(weights),
            first,
            rows,
            self._slots,
            self._offsets,
            self._texts,
            eight_from_everywhere(self._texts),
            self._counts,
            self._n,
            adds,
        )
        if adds:  # who only looks up may be one of several threads
            self._n = n
        return done

    def _grow(self, size: int) -> None:
        """Room for one more text of this many bytes, and twice as many rows or bytes."""
        if self._n == len(self._counts):
            self._counts = _doubled(self._counts)
            self._offsets = np.append(self._offsets, np.empty(self._n, np.int64))
            slots = np.zeros((2 * len(self._slots), 2), np.uint64)
            kernels.move_slots(read_only(self._slots), slots)
            self._slots = slots
        while self._offsets[self._n] + size > len(self._texts):
            self._texts = _doubled(self._texts)


def table_of(tokens: pa.Array) -> TokenTable:
    """The table of tokens that are all different. ValueError where two are the same."""
    table = TokenTable()
    table.add(units_of(tokens))
    if len(table) != len(tokens):
        raise ValueError("a vocabulary holds each token once")
    return table


def _doubled(array: np.ndarray) -> np.ndarray:
    longer = np.empty(2 * len(array), array.dtype)
    longer[: len(array)] = array
    return longer
