"""What a vocabulary is like on its text: Zipf's curves, coverage, lengths, unknown units.

Everything is gathered in one pass over the encoded lines of each split, piece by piece. The
vocabulary itself is learnt from train alone; valid and test are only looked at here.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from textmill.tokenizers.ngram_table import ORDERS, NgramTable
from textmill.tokenizers.tokenizer import Encoded, Tokenizer
from textmill.tokenizers.vocabulary import UNKNOWN, Vocabulary
from textmill.tokenizers.zipf import fit_zipf, spaced, zipf_rows

TRAIN = "train"
_BYTE_NAME = "^<0x[0-9A-F]{2}>$"
Row = dict[str, Any]
_ZIPF = {"order": pa.int64(), "rank": pa.int64(), "count": pa.int64()}
_ZIPF |= {"log10_rank": pa.float64(), "log10_count": pa.float64()}
_COVERAGE = {"size": pa.int64(), "log10_size": pa.float64()}
_LENGTHS = {"of": pa.string(), "length": pa.int64(), "count": pa.int64(), "density": pa.float64()}


class VocabularyReport:
    """Numbers of one tokenizer, from what `add` was given."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._vocabulary = tokenizer.vocabulary
        size = len(self._vocabulary)
        self._ngrams = [NgramTable(order, size) for order in ORDERS]
        self._ids: dict[str, np.ndarray] = {}
        self._lines: dict[str, int] = {}
        self._line_lengths = np.zeros(0, np.int64)
        self._token_lengths = np.zeros(0, np.int64)
        self._lossy_lines: dict[str, int] = {}

    def add(self, split: str, encoded: Encoded) -> None:
        """Count a piece of a split."""
        ids = np.bincount(encoded.ids, minlength=len(self._vocabulary))
        self._ids[split] = self._ids.get(split, 0) + ids
        self._lines[split] = self._lines.get(split, 0) + len(encoded.offsets) - 1
        self._lossy_lines[split] = self._lossy_lines.get(split, 0) + encoded.lossy_lines
        if split != TRAIN:
            return
        self._line_lengths = _sum(self._line_lengths, np.bincount(np.diff(encoded.offsets)))
        unknown = pc.utf8_length(encoded.unknown_texts).to_numpy()
        self._token_lengths = _sum(self._token_lengths, np.bincount(unknown))
        for table in self._ngrams:
            table.add(encoded.ids, encoded.offsets)

    def summary(self) -> Row:
        """Size, unknown units of each split, Zipf's exponents.

        unknown_rate: of all tokens, line ends among them, as in a model's scores.
        """
        summary: Row = {"size": len(self._vocabulary)}
        for split, ids in self._ids.items():
            tokens = int(ids.sum())
            events = tokens + self._lines[split]
            summary[split] = {
                "tokens": tokens,
                "unknown": int(ids[UNKNOWN]),
                "unknown_rate": int(ids[UNKNOWN]) / events if events else None,
                "lossy_lines": self._lossy_lines[split],
            }
        summary["zipf"] = {}
        for order, table in zip(ORDERS, self._ngrams, strict=True):
            fit = fit_zipf(table.falling())
            numbers = {"exponent": round(fit.exponent, 4), "r2": round(fit.r2, 4)} if fit else {}
            summary["zipf"][f"order_{order}"] = {"types": len(table.falling()), **numbers}
        return summary

    def tables(self) -> dict[str, pa.Table]:
        """The rows of every plot, with its columns also where there is no row: a vocabulary may be
        empty, since a text of words that differ all keeps none that is there twice.
        """
        shares = dict.fromkeys(self._ids, pa.float64())
        columns = {"zipf": _ZIPF, "coverage": _COVERAGE | shares, "lengths": _LENGTHS}
        rows = {"zipf": self.zipf(), "coverage": self.coverage(), "lengths": self.lengths()}
        return {
            name: pa.Table.from_pylist(rows[name], pa.schema(list(columns[name].items())))
            for name in columns
        }

    def zipf(self) -> list[Row]:
        """Rank and count of n-grams of train, order by order."""
        rows = zip(ORDERS, self._ngrams, strict=True)
        return [row for order, table in rows for row in zipf_rows(order, table.falling())]

    def coverage(self) -> list[Row]:
        """Share of the running tokens of each split that the most frequent `size` types make up."""
        first = len(self._vocabulary.reserved)
        sizes = spaced(len(self._vocabulary) - first)
        shares = {
            split: np.cumsum(ids[first:])[sizes - 1] / max(int(ids.sum()), 1)
            for split, ids in self._ids.items()
        }
        return [
            {
                "size": int(size),
                "log10_size": round(float(np.log10(size)), 4),
                **{split: round(float(share[row]), 6) for split, share in shares.items()},
            }
            for row, size in enumerate(sizes)
        ]

    def lengths(self) -> list[Row]:
        """Histograms over train: tokens a line, and characters a running token."""
        ids = self._ids.get(TRAIN, np.zeros(len(self._vocabulary), np.int64))
        first = len(self._vocabulary.reserved)
        known = np.bincount(_token_lengths(self._vocabulary), weights=ids[first:])
        of_tokens = _sum(self._token_lengths, known.astype(np.int64))
        return _histogram("tokens a line", self._line_lengths) + _histogram(
            "characters a token", of_tokens
        )


def _token_lengths(vocabulary: Vocabulary) -> np.ndarray:
    """Characters of each ordinary token; a byte counts as one."""
    lengths = pc.utf8_length(vocabulary.tokens)
    if vocabulary.unknown == "none":
        is_byte = pc.match_substring_regex(vocabulary.tokens, _BYTE_NAME)
        lengths = pc.if_else(is_byte, pa.scalar(1, lengths.type), lengths)
    found: np.ndarray = lengths.to_numpy(zero_copy_only=False)
    return found


def _histogram(of: str, counts: np.ndarray) -> list[Row]:
    """Bins that are one wide at first and then a fixed ratio; the share is per unit of length."""
    total = max(int(counts.sum()), 1)
    edges = np.append([0], spaced(max(len(counts), 1)))
    sums = np.add.reduceat(np.append(counts, 0), edges) if len(counts) else np.zeros(len(edges))
    widths = np.diff(edges, append=edges[-1] + 1)
    return [
        {"of": of, "length": int(edge), "count": int(n), "density": round(n / width / total, 8)}
        for edge, n, width in zip(edges, sums, widths, strict=True)
        if n
    ]


def _sum(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Element by element; the shorter one counts as followed by zeros."""
    total = np.zeros(max(len(first), len(second)), np.int64)
    total[: len(first)] += first
    total[: len(second)] += second
    return total
