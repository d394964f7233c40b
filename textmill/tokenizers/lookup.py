"""From tokens to their rows, by a hash table that NumPy reads a column at a time.

Arrow's own look-up builds its table anew at every call. This one is built once. Tokens come by
falling frequency, and whoever comes first gets the slot that is looked at first, so nearly every
token of a text is found by one look.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from textmill.tokenizers.strings import packed, packed_in_two

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio (Knuth, TAOCP 3, 6.4)
_OTHER = np.uint64(0xC2B2AE3D27D4EB4F)
_EMPTY = -2  # no packed word: those are never negative, and -1 stands for a long one


class TokenTable:
    """The rows of distinct tokens."""

    def __init__(self, tokens: pa.Array) -> None:
        integers, is_long = packed(tokens)
        self._short = _IntegerTable(integers[~is_long], np.flatnonzero(~is_long))
        self._long = _LongTable(tokens.filter(pa.array(is_long)))
        self._long_rows = np.append(np.flatnonzero(is_long), -1)

    def rows_of(self, tokens: pa.Array) -> np.ndarray:
        """int64 row of each of a column of tokens, -1 for those that are not here."""
        integers, is_long = packed(tokens)
        rows = self._short.find(integers)
        if np.any(is_long):
            rows[is_long] = self._long_rows[self._long.find(tokens.filter(pa.array(is_long)))]
        return rows


class _LongTable:
    """Tokens of two integers, found by a mixture of both and then compared; longer ones by Arrow.

    A token whose mixture is that of one before it goes with the longer ones.
    """

    def __init__(self, tokens: pa.Array) -> None:
        self._head, self._tail, is_longer = packed_in_two(tokens)
        mixed = self._mixed(self._head, self._tail)
        is_first = np.zeros(len(mixed), dtype=bool)
        is_first[np.unique(mixed, return_index=True)[1]] = True
        in_two = is_first & ~is_longer
        self._two = _IntegerTable(mixed[in_two], np.flatnonzero(in_two))
        self._others = tokens.filter(pa.array(~in_two)).cast(pa.large_string())
        self._other_rows = np.append(np.flatnonzero(~in_two), -1)

    def find(self, tokens: pa.Array) -> np.ndarray:
        head, tail, is_longer = packed_in_two(tokens)
        rows = self._two.find(self._mixed(head, tail))
        if len(self._head):
            is_it = (self._head[rows] == head) & (self._tail[rows] == tail) & ~is_longer
            rows[~is_it] = -1
        if len(self._others):
            missing = rows < 0
            rest = tokens.filter(pa.array(missing)).cast(pa.large_string())
            found = pc.index_in(rest, value_set=self._others)
            rows[missing] = self._other_rows[pc.fill_null(found, -1).to_numpy()]
        return rows

    @staticmethod
    def _mixed(head: np.ndarray, tail: np.ndarray) -> np.ndarray:
        mixed = head.view(np.uint64) * _ODD ^ (tail.view(np.uint64) * _OTHER)
        return (mixed >> np.uint64(1)).view(np.int64)


class _IntegerTable:
    """Open addressing with linear probing, at most a quarter full."""

    def __init__(self, keys: np.ndarray, rows: np.ndarray) -> None:
        self._bits = max(4, (4 * len(keys)).bit_length())
        self._keys = np.full(1 << self._bits, _EMPTY, dtype=np.int64)
        self._rows = np.full(1 << self._bits, -1, dtype=np.int64)
        slots = self._home(keys)
        waiting = np.arange(len(keys))
        while len(waiting):
            # np.unique names the first that wants a slot, hence the most frequent.
            wanted, first = np.unique(slots[waiting], return_index=True)
            is_free = self._keys[wanted] == _EMPTY
            placed = waiting[first[is_free]]
            self._keys[wanted[is_free]] = keys[placed]
            self._rows[wanted[is_free]] = rows[placed]
            waiting = waiting[np.isin(waiting, placed, assume_unique=True, invert=True)]
            slots[waiting] = self._next(slots[waiting])

    def find(self, keys: np.ndarray) -> np.ndarray:
        slots = self._home(keys)
        there = self._keys[slots]
        rows = np.where(there == keys, self._rows[slots], -1)
        waiting = np.flatnonzero((there != keys) & (there != _EMPTY))
        slots = slots[waiting]
        while len(waiting):
            slots = self._next(slots)
            there = self._keys[slots]
            is_found = there == keys[waiting]
            rows[waiting[is_found]] = self._rows[slots[is_found]]
            goes_on = ~is_found & (there != _EMPTY)
            waiting, slots = waiting[goes_on], slots[goes_on]
        return rows

    def _home(self, keys: np.ndarray) -> np.ndarray:
        hashed = keys.view(np.uint64) * _ODD
        return (hashed >> np.uint64(64 - self._bits)).view(np.int64)

    def _next(self, slots: np.ndarray) -> np.ndarray:
        return (slots + 1) & ((1 << self._bits) - 1)
