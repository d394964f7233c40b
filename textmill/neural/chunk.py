"""A chunk: the tokens of one training step. Suffixes: T rows of a chunk, B columns."""

import bisect
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

PADDING = -100
"""Target of a padded position; the loss leaves it out."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """inputs, targets: int64 (T, B). starts: bool (T, B), true where the state begins at zero.

    n_targets: that are no padding. crossings: rows over which a gradient that goes back is
    weighted (`truncation.py`).
    """

    inputs: Tensor
    targets: Tensor
    starts: Tensor
    n_targets: int
    crossings: tuple[int, ...] = ()

    def columns(self, part: slice) -> "Chunk":
        """Some of the columns; `n_targets` stays that of the whole chunk."""
        return Chunk(
            self.inputs[:, part],
            self.targets[:, part],
            self.starts[:, part],
            self.n_targets,
            self.crossings,
        )


class Epochs:
    """Which chunk of which epoch a step is, where epochs differ in how many chunks they have."""

    def __init__(self, chunks_of: Callable[[int], int]) -> None:
        self._chunks_of = chunks_of
        self._first_steps = [0]

    def locate(self, step: int) -> tuple[int, int]:
        """The epoch of a step and its number within the epoch, both counted from 0."""
        while self._first_steps[-1] <= step:
            chunks = self._chunks_of(len(self._first_steps) - 1)
            self._first_steps.append(self._first_steps[-1] + chunks)
        epoch = bisect.bisect_right(self._first_steps, step) - 1
        return epoch, step - self._first_steps[epoch]
