"""How much of valid and test has been read in training: 13-grams of words, and whole lines.

A model that has seen the test text predicts it too well. 13 words in a row hardly recur by chance,
which is why GPT-3 (Brown et al. 2020, appendix C) and those after it look for 13-grams. They run
over line ends but not over documents, and a shorter document counts as one, whole. Lines are
looked at as well, since a text of short lines in another order shares no 13-gram; lines of fewer
than 10 words (names of speakers, "Yes.") recur by rights and are left out. In a script without
spaces between words both count characters.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from textmill.base.scripts import ALPHABETS, IDEOGRAPHS, share_of_letters
from textmill.text.ngrams import Grain, line_hashes, ngram_hashes

N = 13
FEWEST_OF_A_LINE: dict[Grain, int] = {"words": 10, "characters": 13}
_BATCH = 1 << 22
_TAIL = 1 << 9
_SAMPLE = 1 << 20
_TABLE_BITS = 26


def overlap(train: Iterable[str], others: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """Shares of the n-grams and lines of each other split that occur in train. All are iterated
    over more than once; what is held of them is 8 bytes an n-gram of the others.

    `{"unit": "words", "ngrams": {"test": 0.004, ...}, "lines": {"test": 0.001, ...}}`; a share is
    None where a split has no line that is long enough.
    """
    grain = _grain(chain.from_iterable(others.values()))
    least = FEWEST_OF_A_LINE[grain]
    found: dict[str, Any] = {"unit": grain, "n": N}
    found["ngrams"] = _shares(
        train,
        others,
        lambda texts: _hashed(_pieces(texts, N - 1, grain), lambda x: ngram_hashes(x, N, grain)),
    )
    found["lines"] = _shares(
        train,
        others,
        lambda texts: _hashed(_pieces(texts), lambda x: line_hashes(x, least, grain)),
    )
    return found


def worst(found: Mapping[str, Any], split: str) -> float:
    """The larger of a split's two shares: what a threshold is held against."""
    return max(found["ngrams"][split] or 0.0, found["lines"][split] or 0.0)


def _shares(
    train: Iterable[str],
    others: Mapping[str, Iterable[str]],
    hashes_of: Callable[[Iterable[str]], Iterator[Any]],
) -> dict[str, float | None]:
    empty = np.zeros(0, np.uint64)
    wanted = {
        split: np.unique(np.concatenate([empty, *hashes_of(texts)]), return_counts=True)
        for split, texts in others.items()
    }
    sets = {split: _Seen(hashes) for split, (hashes, _) in wanted.items()}
    for found in hashes_of(train):
        for one in sets.values():
            one.look(found)
    shares: dict[str, float | None] = {}
    for split, (hashes, counts) in wanted.items():
        known = int(counts[sets[split].seen].sum())
        shares[split] = round(known / int(counts.sum()), 6) if len(hashes) else None
    return shares


class _Seen:
    """Which of some hashes (sorted, each once) have come by."""

    def __init__(self, hashes: Any) -> None:
        self._hashes = hashes
        self.seen = np.zeros(len(hashes), dtype=bool)
        # A table over their first bits tells of most others at once that they are none of them.
        bits = min(max((16 * len(hashes)).bit_length(), 8), _TABLE_BITS)
        self._shift = np.uint64(64 - bits)
        self._table = np.zeros(1 << bits, dtype=bool)
        self._table[hashes >> self._shift] = True

    def look(self, others: Any) -> None:
        """Mark those that are among `others`."""
        if not len(self._hashes):
            return
        # Sorted, their searches touch the same places one after the other: ten times as fast.
        others = np.sort(others[self._table[others >> self._shift]])
        places = np.searchsorted(self._hashes, others)
        places = places[self._hashes[np.minimum(places, len(self._hashes) - 1)] == others]
        self.seen[places] = True


def _hashed(pieces: Iterable[str], hashes_of: Callable[[Sequence[str]], Any]) -> Iterator[Any]:
    """Hashes of pieces, together up to a size, so that neither number nor length of them costs."""
    batch, size = list[str](), 0
    for piece in pieces:
        batch.append(piece)
        size += len(piece)
        if size >= _BATCH:
            yield hashes_of(batch)
            batch, size = [], 0
    if batch:
        yield hashes_of(batch)


def _pieces(texts: Iterable[str], lead: int = 0, grain: Grain = "words") -> Iterator[str]:
    """Long documents in pieces of whole lines. Each begins with the last `lead` units of the one
    before, so that of n = lead + 1 every n-gram stands in one piece and no n-gram in two.
    """
    for text in texts:
        if len(text) <= 2 * _BATCH:
            if text:
                yield text
            continue
        start, before, is_new = 0, "", True
        while len(text) - start > 2 * _BATCH:
            end = text.find("\n", start + _BATCH) + 1 or len(text)
            piece = before + text[start:end]
            before, start = _last(piece, lead, grain), end
            is_new = before == piece  # too short to be cut off from what follows
            if not is_new:
                yield piece
        if is_new or not (text[start:] or " ").isspace():
            yield before + text[start:]


def _last(piece: str, units: int, grain: Grain) -> str:
    """The last words, or characters other than white space, of a piece, with a line end; the piece
    where it has no more of them.
    """
    if not units:
        return ""
    tail, size = "", _TAIL
    while len(tail) < len(piece):
        tail, size = piece[-size:], 4 * size
        found = list("".join(tail.split())) if grain == "characters" else tail.split()
        # The first of the words may be only the end of one.
        if len(found) > units:
            return ("" if grain == "characters" else " ").join(found[-units:]) + "\n"
    return piece


def _grain(texts: Iterable[str]) -> Grain:
    """Characters, where more than half of the letters are of scripts without spaces."""
    start, size = list[str](), 0
    for text in texts:
        start.append(text[:_SAMPLE])
        size += len(start[-1])
        if size >= _SAMPLE:
            break
    sample = pa.array(["".join(start)[:_SAMPLE]], pa.large_string())
    without_spaces = share_of_letters(sample, IDEOGRAPHS + ALPHABETS)
    return "characters" if without_spaces > 0.5 else "words"
