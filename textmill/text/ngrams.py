"""Hashes of n-grams of words and of whole lines, a column at a time.

Every stretch of bytes is hashed from sums over all bytes before its end: with h(i) the sum of
t[b_j] p^j for j < i (64 bits, t a table of random numbers, p odd), the stretch from s to e has the
hash (h(e) - h(s)) p^-s, wherever it stands. So 13-grams cost as much as single words, and nothing
loops over words in Python: 14 million words take about a second for each kind of stretch. Two
different stretches among 10^8 share a hash with a probability of about 10^-3.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

import numpy as np

Grain = Literal["words", "characters"]

_P = np.uint64(0x9E3779B97F4A7C15)
_P_INVERSE = np.uint64(pow(0x9E3779B97F4A7C15, -1, 2**64))
_BLOCK = 1 << 17
"""Bytes hashed at a time: what they need stays in the processor's cache."""
_SPACE, _LINE_END, _BETWEEN = 32, 10, 31


def ngram_hashes(texts: Sequence[str], n: int, grain: Grain = "words") -> Any:
    """uint64 hashes of the n-grams of each text; of a shorter text that of all it has.

    Line ends count as spaces, so that it does not matter where a line was wrapped; n-grams do not
    reach from one text into the next. `characters`: without any white space.
    """
    cut = _characters if grain == "characters" else _words
    bytes_, starts, ends = cut(_joined(texts))
    text_of = np.searchsorted(np.flatnonzero(bytes_ == _BETWEEN), starts)
    first, last = _grams(text_of, n)
    return _hashed(bytes_, starts[first], ends[last])


def line_hashes(texts: Sequence[str], least: int, grain: Grain = "words") -> Any:
    """uint64 hashes of the lines that hold at least so many words (or characters)."""
    bytes_ = _joined(texts)
    starts, ends = _stretches((bytes_ == _LINE_END) | (bytes_ == _BETWEEN))
    is_start = bytes_ & 0xC0 != 0x80 if grain == "characters" else bytes_ == _SPACE
    before = np.append(0, np.cumsum(is_start))
    units = before[ends] - before[starts] + (grain == "words")
    return _hashed(bytes_, starts[units >= least], ends[units >= least])


def _words(bytes_: Any) -> tuple[Any, Any, Any]:
    """The bytes with one space between words, and where words start and end."""
    is_gap = (bytes_ == _SPACE) | (bytes_ == _LINE_END) | (bytes_ == _BETWEEN)
    follows = np.append(False, is_gap)[:-1]
    kept = ~(is_gap & follows & (bytes_ != _BETWEEN))
    bytes_ = np.where(bytes_ == _LINE_END, _SPACE, bytes_).astype(np.uint8)[kept]
    return bytes_, *_stretches((bytes_ == _SPACE) | (bytes_ == _BETWEEN))


def _characters(bytes_: Any) -> tuple[Any, Any, Any]:
    """The bytes without white space, and where characters start and end."""
    bytes_ = bytes_[(bytes_ != _SPACE) & (bytes_ != _LINE_END)]
    starts = np.flatnonzero(bytes_ & 0xC0 != 0x80)
    ends = np.append(starts, len(bytes_))[1:]
    chosen = bytes_[starts] != _BETWEEN
    return bytes_, starts[chosen], ends[chosen]


def _joined(texts: Sequence[str]) -> Any:
    return np.frombuffer("\x1f".join(texts).encode(), dtype=np.uint8)


def _stretches(is_gap: Any) -> tuple[Any, Any]:
    """Starts and ends of what lies between gaps, nothing left out but the empty."""
    at = np.flatnonzero(is_gap)
    starts, ends = np.append(0, at + 1), np.append(at, len(is_gap))
    return starts[ends > starts], ends[ends > starts]


def _grams(text_of: Any, n: int) -> tuple[Any, Any]:
    """First and last unit of every n-gram. text_of: the text of each unit, ascending."""
    units = np.arange(len(text_of))
    if not len(units):
        return units, units
    is_first = np.append(True, text_of[1:] != text_of[:-1])
    begin = np.flatnonzero(is_first)
    size = np.diff(np.append(begin, len(units)))
    left = np.repeat(begin + size, size) - units
    whole = left >= n
    short = is_first & (left < n)
    chosen = whole | short
    return units[chosen], (units + np.minimum(left, n) - 1)[chosen]


@cache
def _table() -> Any:
    return np.random.default_rng(13).integers(1, 2**64 - 1, size=256, dtype=np.uint64)


@cache
def _powers(base: np.uint64, size: int) -> Any:
    powers = np.full(size, base, dtype=np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)


def _hashed(bytes_: Any, starts: Any, ends: Any) -> Any:
    """Hashes of the stretches, in blocks, so that memory does not grow with the text."""
    hashes = np.empty(len(starts), dtype=np.uint64)
    done = 0
    while done < len(starts):
        stop = max(int(np.searchsorted(starts, starts[done] + _BLOCK)), done + 1)
        first, last = starts[done:stop], ends[done:stop]
        low = first[0]
        size = int(last.max() - low)
        # Few sizes of tables of powers, which are kept.
        room = 1 << size.bit_length()
        sums = np.zeros(size + 1, dtype=np.uint64)
        terms = _table()[bytes_[low : low + size]] * _powers(_P, room)[:size]
        np.cumsum(terms, out=sums[1:])
        stretch = sums[last - low] - sums[first - low]
        stretch *= _powers(_P_INVERSE, room)[first - low]
        hashes[done:stop] = _mixed(stretch)
        done = stop
    return hashes


def _mixed(hashes: Any) -> Any:
    """Every bit of the sum in every bit of the hash (the finalizer of splitmix64)."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))
