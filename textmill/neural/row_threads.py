"""The rows of a tensor shared out among as many threads as torch was given.

Compiled kernels let go of Python's lock. They run between torch's own products, never beside them.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch


class RowThreads:
    """Threads that wait for rows; a context manager, after which they are gone."""

    def __init__(self) -> None:
        self.count = torch.get_num_threads()
        self._others = ThreadPoolExecutor(max(1, self.count - 1))

    def __enter__(self) -> "RowThreads":
        return self

    def __exit__(self, *_: object) -> None:
        self._others.shutdown()

    def run(self, work: Callable[[int, slice], Any], rows: int) -> None:
        """work(number of the share, its rows) for each thread; the caller's takes the first."""
        bounds = [rows * share // self.count for share in range(self.count + 1)]
        first, *others = (slice(*bounds[share : share + 2]) for share in range(self.count))
        going = [self._others.submit(work, n, share) for n, share in enumerate(others, start=1)]
        work(0, first)
        for one in going:
            one.result()
