"""Random batches: windows of the training text in random order, each with a fresh state.

An epoch cuts the text from a random offset on into windows of `bptt` tokens and shuffles them
(`shards/batches.py`); fewer than a batch of windows are left out, others every epoch. A window's
first state is zero though its text goes on from somewhere, which scoring never asks: sequential
batches fit it better, random ones are for comparison and for fixed-window networks.

Suffixes: T rows of a chunk, B columns.
"""

from collections.abc import Iterator

import numpy as np
import torch

from textmill.neural.chunk import Chunk, Epochs
from textmill.neural.text import TrainingText
from textmill.shards.batches import Batch, BatchConfig, Batches


class Windows:
    """The training split as random windows; `chunk(step)` is a function of step and seed."""

    def __init__(self, text: TrainingText, *, batch: int, bptt: int, seed: int) -> None:
        self._text = text
        self._targets_of_a_chunk = batch * bptt
        config = BatchConfig("random", batch, bptt, seed)
        # Batches of positions: the text changes by epoch.
        self._batches = Batches(np.arange(len(text)), config)
        self._epochs = Epochs(self._batches.count)
        self.chunks = self._batches.count(0)
        self._rest: Iterator[Batch] = iter(())
        self._next_step = -1
        self._epoch = -1

    def chunk(self, step: int) -> Chunk:
        """The chunk of a step, counted from 0 over all epochs."""
        epoch, number = self._epochs.locate(step)
        if epoch != self._epoch:
            self._inputs, self._targets = self._text.epoch(epoch)
        if epoch != self._epoch or step != self._next_step:
            self._batches.restore({**self._batches.state(), "epoch": epoch, "next": number})
            self._rest = iter(self._batches)
        self._epoch, self._next_step = epoch, step + 1
        at_TB = next(self._rest).targets_BT.T
        starts_TB = self._text.starts[at_TB]
        starts_TB[0] = True
        return Chunk(
            torch.from_numpy(self._inputs[at_TB].astype(np.int64)),
            torch.from_numpy(self._targets[at_TB].astype(np.int64)),
            torch.from_numpy(starts_TB),
            self._targets_of_a_chunk,
        )

    def begins_epoch(self, step: int) -> bool:  # noqa: ARG002
        """Never: every window has a state of its own."""
        return False

    def tokens_until(self, step: int) -> int:
        """Targets seen in the steps before `step`."""
        return step * self._targets_of_a_chunk
