"""How much of valid and test has been read in training: 13-grams of words, and whole lines.

A model that has seen the test text predicts it too well. 13 words in a row hardly recur by chance,
which is why GPT-3 (Brown et al. 2020, appendix C) and those after it look for 13-grams. They run
over line ends but not over documents, and a shorter document counts as one, whole. Lines are
looked at as well, since a text of short lines in another order shares no 13-gram; lines of fewer
than 10 words (names of speakers, "Yes.") recur by rights and are left out. In a script without
spaces between words both count characters.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from textmill.text.ngrams import Grain, line_hashes, ngram_hashes

N = 13
FEWEST_OF_A_LINE: dict[Grain, int] = {"words": 10, "characters": 13}
_WITHOUT_SPACES = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_BATCH = 1 << 23
_LEAD = 1 << 12
_SAMPLE = 1 << 20


def overlap(train: Sequence[str], others: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Shares of the n-grams and lines of each other split that occur in train.

    `{"unit": "words", "ngrams": {"test": 0.004, ...}, "lines": {"test": 0.001, ...}}`; a share is
    None where a split has no line that is long enough.
    """
    grain = _grain([text for texts in others.values() for text in texts])
    found: dict[str, Any] = {"unit": grain, "n": N}
    least = FEWEST_OF_A_LINE[grain]
    found["ngrams"] = _shares(train, others, lambda texts: ngram_hashes(texts, N, grain))
    found["lines"] = _shares(train, others, lambda texts: line_hashes(texts, least, grain))
    return found


def worst(found: Mapping[str, Any], split: str) -> float:
    """The larger of a split's two shares: what a threshold is held against."""
    return max(found["ngrams"][split] or 0.0, found["lines"][split] or 0.0)


def _shares(
    train: Sequence[str], others: Mapping[str, Sequence[str]], hashed: Any
) -> dict[str, float | None]:
    wanted = {
        split: np.unique(hashed(texts), return_counts=True) for split, texts in others.items()
    }
    seen = {split: np.zeros(len(hashes), dtype=bool) for split, (hashes, _) in wanted.items()}
    for batch in _batches(train):
        there = pa.array(hashed(batch))
        for split, (hashes, _) in wanted.items():
            places = pc.drop_null(pc.index_in(there, value_set=pa.array(hashes)))
            seen[split][places.to_numpy()] = True
    shares: dict[str, float | None] = {}
    for split, (hashes, counts) in wanted.items():
        total = int(counts.sum())
        shares[split] = round(int(counts[seen[split]].sum()) / total, 6) if len(hashes) else None
    return shares


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Documents together up to a size, so that neither their number nor their length costs."""
    batch: list[str] = []
    size = 0
    for piece in _pieces(texts):
        batch.append(piece)
        size += len(piece)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _pieces(texts: Sequence[str]) -> Iterator[str]:
    """Long documents in pieces of whole lines, each with so much of the one before as holds every
    n-gram that reaches over the cut. What is seen twice is seen.
    """
    for text in texts:
        start = 0
        while len(text) - start > _BATCH + _LEAD:
            end = text.find("\n", start + _BATCH) + 1 or len(text)
            yield text[start:end]
            start = max(text.rfind("\n", start, end - _LEAD) + 1, start + 1)
            if end == len(text):
                break
        else:
            yield text[start:]


def _grain(texts: Sequence[str]) -> Grain:
    """Characters, where more than half of the letters are of scripts without spaces."""
    sample = pa.array(["".join(texts)[:_SAMPLE]], pa.large_string())
    without = pc.count_substring_regex(sample, _WITHOUT_SPACES)[0].as_py()
    letters = pc.count_substring_regex(sample, r"\p{L}")[0].as_py()
    return "characters" if without > letters / 2 else "words"
