"""Layout of the training text for truncated BPTT: B contiguous columns, walked down in chunks.

Every token of the split is a target exactly once an epoch, line ends included, and the last
column is padded with targets that the loss ignores; the usual layouts lose a tail and the first
token of every column. A document begins with the state at zero.

Column b goes on where column b-1 ends, so at the end of an epoch the state of each column moves
one to the right and no column ever begins an epoch in the middle of a document from nothing
(but in the first).

Suffixes: L rows (tokens a column), T rows of a chunk, B columns.
"""

import numpy as np
import torch

from textmill.neural.chunk import PADDING, Chunk, Epochs
from textmill.neural.config import Truncation
from textmill.neural.text import TrainingText
from textmill.neural.truncation import chunk_bounds, crossings
from textmill.tokenizers.vocabulary import END


class Columns:
    """The training split as columns; `chunk(step)` is a function of the step and the seed."""

    def __init__(
        self,
        text: TrainingText,
        *,
        batch: int,
        bptt: int,
        seed: int,
        truncation: Truncation = "fixed",
        continuation: float = 0.0,
    ) -> None:
        self._text = text
        self._batch = batch
        self._bptt = bptt
        self._seed = seed
        self._truncation: Truncation = truncation
        self._continuation = continuation
        self.rows = -(-len(text) // batch)
        self._bounds: dict[int, np.ndarray] = {}
        self._epochs = Epochs(self._chunks_of)
        self.chunks = self._chunks_of(0)
        self._starts_LB = self._in_columns(text.starts, False)
        self._epoch = -1

    def chunk(self, step: int) -> Chunk:
        """The chunk of a step, counted from 0 over all epochs."""
        epoch, number = self._epochs.locate(step)
        if epoch != self._epoch:
            self._lay_out(epoch)
        first, stop = self._bounds_of(epoch)[number : number + 2]
        rows = slice(first, stop)
        targets = torch.from_numpy(self._targets_LB[rows].astype(np.int64))
        return Chunk(
            torch.from_numpy(self._inputs_LB[rows].astype(np.int64)),
            targets,
            torch.from_numpy(self._starts_LB[rows]),
            int((targets != PADDING).sum()),
            crossings(int(first), int(stop), self._bptt, self._truncation),
        )

    def begins_epoch(self, step: int) -> bool:
        """True where the state has to move one column to the right before the step."""
        return step > 0 and self._epochs.locate(step)[1] == 0

    def tokens_until(self, step: int) -> int:
        """Targets seen in the steps before `step`."""
        epoch, number = self._epochs.locate(step)
        row = int(self._bounds_of(epoch)[number])
        full, rest = divmod(len(self._text), self.rows)
        in_epoch = full * row + min(row, rest)
        return epoch * len(self._text) + in_epoch

    def _bounds_of(self, epoch: int) -> np.ndarray:
        if self._truncation == "fixed":
            epoch = 0
        if epoch not in self._bounds:
            self._bounds[epoch] = chunk_bounds(
                self.rows,
                self._bptt,
                self._truncation,
                self._continuation,
                np.random.default_rng([self._seed, epoch, 1]),
            )
        return self._bounds[epoch]

    def _chunks_of(self, epoch: int) -> int:
        return len(self._bounds_of(epoch)) - 1

    def _lay_out(self, epoch: int) -> None:
        inputs, targets = self._text.epoch(epoch)
        self._inputs_LB = self._in_columns(inputs, END)
        self._targets_LB = self._in_columns(targets, PADDING)
        self._epoch = epoch

    def _in_columns(self, values: np.ndarray, padding: int | bool) -> np.ndarray:
        padded = np.full(self.rows * self._batch, padding, dtype=values.dtype)
        padded[: len(values)] = values
        return np.ascontiguousarray(padded.reshape(self._batch, self.rows).T)
