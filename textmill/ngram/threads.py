"""Two threads over ranges of rows: compiled code lets go of Python's lock, so threads are enough.

Every range is computed by itself and written to its own place, so the number of threads changes
no bit of any result.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise
from typing import Any, TypeVar

THREADS = 2
SMALL = 1 << 15
"""Rows below which starting threads costs more than it gains."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def over_ranges(work: Callable[[int, int], Any], rows: int) -> None:
    """work(first, end) for ranges that cover `rows` rows."""
    if rows < SMALL:
        work(0, rows)
        return
    pieces = 4 * THREADS
    bounds = [rows * piece // pieces for piece in range(pieces + 1)]
    for _ in in_order(lambda bound: work(*bound), pairwise(bounds)):
        pass


def in_order(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """work(item) in the items' order; no more than THREADS results are being made or waiting."""
    left = iter(items)
    with ThreadPoolExecutor(THREADS) as pool:
        waiting = [pool.submit(work, item) for item in islice(left, THREADS)]
        while waiting:
            yield waiting.pop(0).result()
            waiting += [pool.submit(work, item) for item in islice(left, 1)]
