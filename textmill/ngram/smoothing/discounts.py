"""The discounts of one order, estimated from its counts of counts.

Where a text is too small or too regular (characters, say: no letter occurs once) the closed form
has no value or a senseless one. Then that order alone takes 0.5, 1, 1.5, as lmplz does under
`--discount_fallback`, and the log says which order, which count and which value.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from textmill.base.compiled import Kernel

FALLBACK = (0.5, 1.0, 1.5)
TWICE = (
    "; lines that are there twice would do it too, and the cleaning rule duplicate_lines drops them"
)

_log = logging.getLogger(__name__)
_level = ContextVar("level of the notices", default=logging.WARNING)


@contextmanager
def notices_for_debugging() -> Iterator[None]:
    """Inside, notices are logged at debug level: of a model that nobody asked for by its name."""
    before = _level.set(logging.DEBUG)
    try:
        yield
    finally:
        _level.reset(before)


def counts_of_counts(adjusted: np.ndarray) -> np.ndarray:
    """n_1 to n_4: how many n-grams have an adjusted count of 1, 2, 3 and 4."""
    n = np.zeros(6, np.int64)
    _count(adjusted, n)
    return n[1:5]


@Kernel
def _count(adjusted: np.ndarray, n: np.ndarray) -> None:
    for count in adjusted:
        n[min(count, 5)] += 1


def discounts_of(order: int, n: np.ndarray, *, modified: bool) -> np.ndarray:
    """Three discounts of an order, equal ones where they are not `modified`."""
    if modified:
        return modified_discounts(order, n)
    return np.full(3, single_discount(order, n))


def single_discount(order: int, n: np.ndarray) -> float:
    """D = n_1 / (n_1 + 2 n_2) of Ney, Essen and Kneser (1994); 0.5 where that says nothing."""
    if n[0] and n[1]:
        return float(n[0] / (n[0] + 2 * n[1]))
    missing = 1 if n[0] == 0 else 2
    _log.log(
        _level.get(),
        "order %d: no n-gram has a count of %d (n-grams of count 1 to 4: %s), so the discount "
        "n1 / (n1 + 2 n2) says nothing; this order alone takes %s%s",
        order,
        missing,
        ", ".join(map(str, n)),
        FALLBACK[0],
        TWICE if n[0] == 0 else "",
    )
    return FALLBACK[0]


def modified_discounts(order: int, n: np.ndarray) -> np.ndarray:
    """D_1, D_2 and D_3+ (float64) from `counts_of_counts`; the fallback where they have none.

    D_k = k - (k + 1) Y n_{k+1} / n_k with Y = n_1 / (n_1 + 2 n_2), of Chen and Goodman (1998).
    """
    trouble = ""
    empty = np.flatnonzero(n[:3] == 0)
    if len(empty):
        trouble = f"no n-gram has an adjusted count of {empty[0] + 1}"
    else:
        k = np.arange(1, 4)
        discounts = k - (k + 1) * (n[0] / (n[0] + 2 * n[1])) * n[1:] / n[:3]
        outside = np.flatnonzero((discounts < 0) | (discounts > k))
        if not len(outside):
            return discounts
        at = outside[0]
        trouble = f"the discount of count {at + 1} is {discounts[at]:.4g}, outside 0 to {at + 1}"
    _log.log(
        _level.get(),
        "order %d: %s (n-grams of count 1 to 4: %s); this order alone takes the discounts %s, "
        "as is usual for characters and for small texts%s",
        order,
        trouble,
        ", ".join(map(str, n)),
        ", ".join(map(str, FALLBACK)),
        TWICE if n[0] == 0 else "",
    )
    return np.array(FALLBACK)
