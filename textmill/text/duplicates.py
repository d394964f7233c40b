"""Duplicates: whole documents and lines that came before, and documents that are nearly alike.

The first of several stays, in order of names and places, so the answer is the same each time. A
rule of this room remembers what has come by; it is started anew for every run (`start`).

Near duplicates are found by MinHash signatures in a locality-sensitive index, both of datasketch:
128 permutations over word 5-grams (as in Lee et al. 2022, and datatrove), so documents whose sets
of 5-grams overlap by the threshold (Jaccard) fall with a probability of about one half, those far
above it nearly always, those far below nearly never. The hashes come from a fixed seed.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.text.limits import drop_lines
from textmill.text.ngrams import Grain, ngram_hashes
from textmill.text.rules import Cleaned, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateDocuments:
    """Documents with the very text of an earlier one are dropped."""

    def start(self) -> Rule:
        """A rule that has seen nothing yet."""
        seen: set[bytes] = set()

        def rule(text: str) -> Cleaned:
            known = hashlib.sha256(text.encode()).digest()
            if known in seen:
                return Cleaned(text, drop="an earlier document again")
            seen.add(known)
            return Cleaned(text)

        return rule


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateLines:
    """Lines that occurred before in the corpus are dropped, if they are long enough.

    Short lines ("Yes.", the names of speakers) are repeated by rights, so lines of fewer than
    `min_words` words stay.
    """

    min_words: int = 5

    def __post_init__(self) -> None:
        if self.min_words < 1:
            raise ValueError(f"min_words: must be 1 or more, not {self.min_words}")

    def start(self) -> Rule:
        """A rule that has seen nothing yet."""
        seen: set[str] = set()
        spaces = self.min_words - 1

        def rule(text: str) -> Cleaned:
            lines = text.removesuffix("\n").split("\n") if text else []
            before = len(seen)
            gone = np.zeros(len(lines), dtype=bool)
            for number, line in enumerate(lines):
                if line and line.count(" ") >= spaces:
                    gone[number] = line in seen
                    seen.add(line)
            if len(seen) - before == len(lines):
                return Cleaned(text)
            return drop_lines(text, gone, [("a line that came before", gone)])

        return rule


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDuplicates:
    """Documents that are nearly an earlier one are dropped.

    threshold: the Jaccard similarity of their sets of `ngram`-grams. unit: of words; or of
    characters, for scripts without spaces, where a word would be a clause.
    """

    threshold: float = 0.8
    ngram: int = 5
    unit: Grain = "words"
    permutations: int = 128
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0.1 <= self.threshold < 1:
            raise ValueError(f"threshold: lies from 0.1 to below 1, {self.threshold} does not")
        if self.ngram < 1 or self.permutations < 16 or self.seed < 0:
            raise ValueError("needs ngram >= 1, permutations >= 16 and seed >= 0")

    def start(self) -> Rule:
        """A rule that has seen nothing yet."""
        from datasketch import MinHash, MinHashLSH  # noqa: PLC0415  # scipy takes half a second

        index = MinHashLSH(threshold=self.threshold, num_perm=self.permutations)
        empty = MinHash(num_perm=self.permutations, seed=self.seed, hashfunc=int)
        examples: list[str] = []

        def rule(text: str) -> Cleaned:
            hashes = self._hashes(text)
            if not len(hashes):
                return Cleaned(text)
            signature: Any = empty.copy()
            signature.update_batch(hashes)
            if alike := index.query(signature):
                like = examples[min(alike)]
                return Cleaned(text, drop="nearly an earlier document", example=f"like {like}")
            index.insert(len(examples), signature)
            examples.append(f'"{text[:60].strip()}"'.replace("\n", " "))
            return Cleaned(text)

        return rule

    def _hashes(self, text: str) -> Any:
        """Of the n-grams (of a shorter text: of all that it has), 32 bits as MinHash wants."""
        return np.unique(ngram_hashes([text], self.ngram, self.unit) >> np.uint64(32))
