"""What the vocabulary stage wrote of one tokenizer: its numbers, and the rows of its tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, str]
TABLES = ("zipf", "coverage", "lengths")
ORDERS = (1, 2, 3)
FITTED_FROM = 10
"""Zipf's line is fitted to counts from here on."""


@dataclass(frozen=True, slots=True)
class Report:
    """name: of the tokenizer. tables: rows of text, as in their files."""

    name: str
    summary: Mapping[str, Any]
    tables: Mapping[str, Sequence[Row]]

    def exponent(self, order: int) -> float | None:
        """Zipf's of the n-grams; None where too few are frequent enough for a fit."""
        found: float | None = self.summary["zipf"][f"order_{order}"].get("exponent")
        return found

    def curve(self, order: int) -> tuple[list[float], list[float]]:
        """log10 of rank and of count."""
        rows = [row for row in self.tables["zipf"] if row["order"] == str(order)]
        return _column(rows, "log10_rank"), _column(rows, "log10_count")

    def line(self, order: int) -> tuple[list[float], list[float]]:
        """Both ends of the fitted line: its slope through the middle of what it was fitted to."""
        exponent, (x, y) = self.exponent(order), self.curve(order)
        points = [(a, b) for a, b in zip(x, y, strict=True) if 10**b >= FITTED_FROM - 0.01]
        if exponent is None or not points:
            return [], []
        height = sum(b + exponent * a for a, b in points) / len(points)
        ends = [points[0][0], points[-1][0]]
        return ends, [height - exponent * end for end in ends]

    def coverage(self, split: str) -> tuple[list[float], list[float]]:
        """log10 of the number of most frequent types, and the share of tokens that they cover."""
        rows = self.tables["coverage"]
        return _column(rows, "log10_size"), _column(rows, split)

    def lengths(self, of: str) -> tuple[list[float], list[float]]:
        """Lengths from 1 on, and the share of train at each of them."""
        rows = [row for row in self.tables["lengths"] if row["of"] == of and row["length"] != "0"]
        return _column(rows, "length"), _column(rows, "density")


def _column(rows: Sequence[Row], name: str) -> list[float]:
    return [float(row[name]) for row in rows]
