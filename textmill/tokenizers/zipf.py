"""Zipf's law: the count of the type of rank r falls as r to the power of minus an exponent.

The exponent is the slope of a straight line through log10 count against log10 rank, by least
squares. Ranks are taken evenly on the logarithmic scale (up to 20 a decade), since otherwise the
many rare types would decide alone; and only as far as counts are 10 or more, since below that the
curve is a staircase of ties. What the line leaves is told by r2, the share of the variance of log10
count that it explains.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

LEAST_COUNT = 10
LEAST_RANKS = 10
RANKS_A_DECADE = 20


@dataclass(frozen=True, slots=True)
class ZipfFit:
    """exponent: positive. r2: 0 to 1. ranks: how far down the fit goes."""

    exponent: float
    r2: float
    ranks: int


def fit_zipf(falling: np.ndarray) -> ZipfFit | None:
    """The fit to counts in falling order; None with fewer than 10 ranks of count 10 or more."""
    ranks = int(np.count_nonzero(falling >= LEAST_COUNT))
    if ranks < LEAST_RANKS:
        return None
    x, y = _logarithms(falling, spaced(ranks))
    dx, dy = x - x.mean(), y - y.mean()
    slope = float(dx @ dy / (dx @ dx))
    left = dy - slope * dx
    total = float(dy @ dy)
    return ZipfFit(-slope, 1.0 - float(left @ left) / total if total else 1.0, ranks)


def spaced(last: int, a_decade: int = RANKS_A_DECADE) -> np.ndarray:
    """Whole numbers from 1 to `last` (both of them), evenly on a logarithmic scale."""
    if last < 1:
        return np.zeros(0, np.int64)
    steps = int(np.ceil(np.log10(last) * a_decade)) + 1
    return np.unique(np.rint(np.geomspace(1, last, steps)).astype(np.int64))


def zipf_rows(order: int, falling: np.ndarray) -> list[dict[str, Any]]:
    """Points of the curve for a plot."""
    ranks = spaced(len(falling))
    x, y = _logarithms(falling, ranks)
    return [
        {
            "order": order,
            "rank": int(rank),
            "count": int(falling[rank - 1]),
            "log10_rank": round(float(log_rank), 4),
            "log10_count": round(float(log_count), 4),
        }
        for rank, log_rank, log_count in zip(ranks, x, y, strict=True)
    ]


def _logarithms(falling: np.ndarray, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.log10(ranks), np.log10(falling[ranks - 1])
